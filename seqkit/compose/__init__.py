"""Arguments become a checked config; nothing else knows Hydra but the command line.

Plain arguments need no Hydra. It is imported when it is used, a quarter of a second, as sweeps are.
"""

import importlib
from typing import TYPE_CHECKING

from seqkit.compose.arguments import FREE_TEXT as FREE_TEXT
from seqkit.compose.arguments import Composed as Composed
from seqkit.compose.arguments import compose as compose
from seqkit.compose.arguments import given_keys as given_keys
from seqkit.compose.arguments import going_on as going_on

if TYPE_CHECKING:
    from seqkit.compose.sweeping import is_of_sweep as is_of_sweep
    from seqkit.compose.sweeping import refuse_keys_of_others as refuse_keys_of_others
    from seqkit.compose.sweeping import sweep as sweep


def __getattr__(name: str) -> object:
    """A name of `sweeping`."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("seqkit.compose.sweeping"), name)
