"""Data without end: symbols in files of some megabytes, and an index that tells what they are."""
