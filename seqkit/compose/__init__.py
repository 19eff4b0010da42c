"""Hydra: arguments become a checked config. Nothing else knows it but the command line."""

from seqkit.compose.composing import (
    FREE_TEXT,
    Composed,
    compose,
    given_keys,
    going_on,
)
from seqkit.compose.sweeping import (
    Choices,
    Domain,
    Space,
    Span,
    is_of_sweep,
    refuse_keys_of_others,
    space,
    sweep,
)

__all__ = [
    "FREE_TEXT",
    "Choices",
    "Composed",
    "Domain",
    "Space",
    "Span",
    "compose",
    "given_keys",
    "going_on",
    "is_of_sweep",
    "refuse_keys_of_others",
    "space",
    "sweep",
]
