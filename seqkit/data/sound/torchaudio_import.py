"""The one place that imports torchaudio.

torchaudio is built for one version of CUDA (see pyproject.toml), so it cannot be imported
everywhere. Where it is missing, the same equations give the same values.
"""

import functools
import importlib
from types import ModuleType


@functools.cache
def torchaudio() -> ModuleType | None:
    """The library, or None where importing it fails, in whatever way."""
    try:
        library = importlib.import_module("torchaudio")
        for part in ("functional", "transforms"):  # a folder of that name has neither
            importlib.import_module(f"torchaudio.{part}")
    except Exception:  # a build for another torch fails in ways of its own
        return None
    return library
