"""seqkit: sequence models of text and sound, symbol by symbol, on cuDNN's LSTM.

    model = seqkit.load("runs/a")
    model.generate("ROMEO:", length=200)
    run = seqkit.train("shakespeare", data="novel.txt", on_event=print)

docs/tutorials/python.md has the whole, docs/how/architecture.md the rooms of the code. What is
named below is imported when it is used: PyTorch takes seconds.
"""

import importlib
from typing import TYPE_CHECKING

from seqkit.foundation.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    DeviceError,
    DivergedError,
    OutputError,
    SeqkitError,
)

if TYPE_CHECKING:
    from seqkit.api.model import Model, ModelState, load
    from seqkit.api.train import Run, train
    from seqkit.config import ModelConfig, SampleConfig
    from seqkit.data import codecs
    from seqkit.data.corpus import Corpus, Part
    from seqkit.data.lanes import Lanes, Window
    from seqkit.model.char_rnn import CharRNN
    from seqkit.model.network import cross_entropy
    from seqkit.model.state import State
    from seqkit.runs import events

__version__ = "0.3.0"

__all__ = [
    "CharRNN",
    "CheckpointError",
    "ConfigError",
    "Corpus",
    "DataError",
    "DeviceError",
    "DivergedError",
    "Lanes",
    "Model",
    "ModelConfig",
    "ModelState",
    "OutputError",
    "Part",
    "Run",
    "SampleConfig",
    "SeqkitError",
    "State",
    "Window",
    "codecs",
    "cross_entropy",
    "events",
    "load",
    "train",
]

_HOMES = {
    "seqkit.config": ("ModelConfig", "SampleConfig"),
    "seqkit.data": ("codecs",),
    "seqkit.data.corpus": ("Corpus", "Part"),
    "seqkit.data.lanes": ("Lanes", "Window"),
    "seqkit.api.model": ("Model", "ModelState", "load"),
    "seqkit.api.train": ("Run", "train"),
    "seqkit.model.char_rnn": ("CharRNN",),
    "seqkit.model.network": ("cross_entropy",),
    "seqkit.model.state": ("State",),
    "seqkit.runs": ("events",),
}


def __getattr__(name: str) -> object:
    """A name of `__all__`, imported from its home."""
    for home, names in _HOMES.items():
        if name in names:
            module = importlib.import_module(home)
            if hasattr(module, name):
                return getattr(module, name)
            return importlib.import_module(f"{home}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
