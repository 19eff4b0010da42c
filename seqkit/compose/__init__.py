"""Hydra: arguments become a checked config. Nothing else knows it but the command line."""

from seqkit.compose.composing import FREE_TEXT, Composed, compose, given_keys
from seqkit.compose.sweeping import sweep

__all__ = ["FREE_TEXT", "Composed", "compose", "given_keys", "sweep"]
