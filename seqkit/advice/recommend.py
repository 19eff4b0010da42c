"""What to train on some data, by their kind, their size and the device: a recipe and its keys.

On a CPU that is a recipe that ends after the minutes that there are, and a network that makes steps
enough in them; on a GPU it may be one that was made for that.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import fields
from itertools import islice
from typing import Any

from seqkit.config import Config, DataConfig, values_of
from seqkit.data import files
from seqkit.data.corpus import Corpus
from seqkit.data.datasets import Folders
from seqkit.data.load import find
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.device import Device
from seqkit.foundation.wording import command_line

_FOR_TEXT, _FOR_SOUND = "shakespeare", "my_sound"
_FOR_LINES = "names"  # for a list, a document a line
_LOOKED_AT, _ENTRIES, _MOSTLY = 8, 50, 0.9  # files, and of a list the lines that are entries
_ENTRY, _STOPS = 30, ".,;:!?{}…。、"  # characters, and those that end no entry
_MINUTES, _MINUTES_MORE = 6.0, 2.0  # of training, and with weights to start from
_FOR_GPU = {"text": "shakespeare_large", "bytes": "text_large", "audio": "spoken_digits_large"}
_ANYWHERE = _FOR_LINES, _FOR_SOUND  # as good on a GPU
_LARGE_TEXT = 2_000_000  # symbols from which text_large is the better of the two
_UNITS = {128: (2, 100_000), 256: (15, 1_000_000)}
"""Units of a layer at most, for fewer minutes or symbols than these."""
_MUCH = 300_000  # symbols a minute, which are read fewer than eight times and want no dropout
_DROPOUT = "dropout", "output_dropout", "weight_drop"


def fitting_recipe(data: DataConfig, folders: Folders, catalogue: Catalogue) -> str:
    """The recipe for this data where none is given.

    Raises:
        ConfigError: neither path nor data set, or keys that do not fit each other.
        DataError: the data cannot be found.
    """
    source = find(data, None, catalogue, folders)
    if source.is_sound:
        return _FOR_SOUND
    some = islice(source.documents.values(), _LOOKED_AT)
    text = "\n".join(files.head(file).decode(data.encoding, "replace") for file in some)
    lines = [line.strip() for line in text.splitlines()]
    entries = sum(0 < len(line) <= _ENTRY and line[-1] not in _STOPS for line in lines)
    is_list = data.kind != "bytes" and entries >= max(_MOSTLY * len(lines), _ENTRIES)
    return _FOR_LINES if data.document == "line" or (is_list and not data.cuts_files) else _FOR_TEXT


def advise(
    config: Config, symbols: int, corpus: Corpus, chosen: Device, composed: Callable[[str], Config]
) -> dict[str, Any] | None:
    """What to train with this config's data on a device; None where there is nothing to learn.

    `symbols` are those of the training part; `composed` gives the config of a recipe as it is.
    """
    if corpus.whole.is_constant:
        return None
    kind = corpus.codec.kind
    if chosen.type == "cuda" and config.recipe not in _ANYWHERE and not config.init_from:
        large = kind == "text" and symbols > _LARGE_TEXT
        base, keys = composed("text_large" if large else _FOR_GPU[kind]), dict[str, Any]()
    else:
        base = composed(config.recipe or "")
        keys = _on_cpu(config, base, symbols)
    recipe = base.recipe or config.recipe or ""  # one in a --config-dir has the defaults as base
    words = [f"recipe={recipe}", *([f"init_from={config.init_from}"] if config.init_from else [])]
    words += data_words(config.data, base.data)
    words += [f"{key}={_written(value)}" for key, value in keys.items()]
    minutes = keys.get("train.max_minutes", base.train.max_minutes)
    return {
        "command": command_line(*words, plugins=config.plugins),
        "recipe": recipe,
        "seconds": 60 * minutes or None,
    }


def _on_cpu(config: Config, base: Config, symbols: int) -> dict[str, Any]:
    """The keys that a recipe is given so that its training fits the time and the data."""
    usual = _MINUTES_MORE if config.init_from else _MINUTES
    minutes = config.train.max_minutes or base.train.max_minutes or usual
    keys: dict[str, Any] = {"train.max_minutes": minutes}
    if not (base.train.max_minutes or config.init_from):  # they bring a network
        most = [units for units, (m, n) in _UNITS.items() if minutes < m or symbols < n]
        keys["model.hidden_size"] = min([base.model.hidden_size, *most])
        if symbols >= _MUCH * minutes:
            keys |= {f"model.{name}": 0.0 for name in _DROPOUT}
    defaults = values_of(base)
    return {key: value for key, value in keys.items() if value != defaults[key]}


def data_words(data: DataConfig, base: DataConfig, given: Collection[str] = ()) -> list[str]:
    """The keys that say what the data are, and how they are read where a recipe does otherwise.

    Those that were `given` are said in any case.
    """
    words = [f"data.path={path}" for path in data.path]
    told = ("path", "dataset") if words else ("path",)  # the path comes before the data set
    for item in fields(DataConfig):
        value = getattr(data, item.name)
        same = value == getattr(base, item.name) and f"data.{item.name}" not in given
        if not same and item.name not in told:
            words.append(f"data.{item.name}={_written(value)}")
    return words


def _written(value: object) -> str:
    """A value as the command line takes it."""
    if isinstance(value, list):
        return ",".join(map(_written, value))
    return value if isinstance(value, str) else json.dumps(value).removesuffix(".0")
