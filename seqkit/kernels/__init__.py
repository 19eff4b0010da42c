"""Compile, record and time what runs on a GPU."""
