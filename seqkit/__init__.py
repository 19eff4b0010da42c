"""seqkit: sequence models of text and sound, symbol by symbol, on cuDNN's LSTM.

    model = seqkit.load("runs/a")
    model.generate("ROMEO:", length=200)
    run = seqkit.train("shakespeare", data="novel.txt", on_event=print)

docs/tutorials/python.md has the whole, docs/how/architecture.md the rooms of the code. What is
named below is imported when it is used: PyTorch takes seconds.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqkit.api.model import Model as Model
    from seqkit.api.model import ModelState as ModelState
    from seqkit.api.model import load as load
    from seqkit.api.train import Run as Run
    from seqkit.api.train import train as train
    from seqkit.config import ModelConfig as ModelConfig
    from seqkit.config import SampleConfig as SampleConfig
    from seqkit.data import codecs as codecs
    from seqkit.data.corpus import Corpus as Corpus
    from seqkit.data.corpus import Part as Part
    from seqkit.data.lanes import Lanes as Lanes
    from seqkit.data.lanes import Window as Window
    from seqkit.foundation.errors import CheckpointError as CheckpointError
    from seqkit.foundation.errors import ConfigError as ConfigError
    from seqkit.foundation.errors import DataError as DataError
    from seqkit.foundation.errors import DeviceError as DeviceError
    from seqkit.foundation.errors import DivergedError as DivergedError
    from seqkit.foundation.errors import OutputError as OutputError
    from seqkit.foundation.errors import SeqkitError as SeqkitError
    from seqkit.model.char_rnn import CharRNN as CharRNN
    from seqkit.model.network import cross_entropy as cross_entropy
    from seqkit.model.state import State as State
    from seqkit.runs import events as events

__version__ = "0.3.0"

_ERRORS = ("CheckpointError", "ConfigError", "DataError", "DeviceError", "DivergedError")
_HOMES = {
    "seqkit.api.model": ("Model", "ModelState", "load"),
    "seqkit.api.train": ("Run", "train"),
    "seqkit.config": ("ModelConfig", "SampleConfig"),
    "seqkit.data": ("codecs",),
    "seqkit.data.corpus": ("Corpus", "Part"),
    "seqkit.data.lanes": ("Lanes", "Window"),
    "seqkit.foundation.errors": (*_ERRORS, "OutputError", "SeqkitError"),
    "seqkit.model.char_rnn": ("CharRNN",),
    "seqkit.model.network": ("cross_entropy",),
    "seqkit.model.state": ("State",),
    "seqkit.runs": ("events",),
}
__all__ = [name for names in _HOMES.values() for name in names]


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
