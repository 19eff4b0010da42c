"""Symbols out of a model."""
