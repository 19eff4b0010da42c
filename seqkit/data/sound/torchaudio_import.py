"""torchaudio is imported here and nowhere else.

It is built for one version of CUDA (see pyproject.toml) and cannot be imported everywhere.
"""

import functools
import importlib
from types import ModuleType


@functools.cache
def torchaudio() -> ModuleType | None:
    """The library, or None where its import fails."""
    try:
        return importlib.import_module("torchaudio")
    except (ImportError, OSError, RuntimeError):
        return None
