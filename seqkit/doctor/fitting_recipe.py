"""The recipe that fits some data."""

import contextlib
import math
from collections.abc import Iterable
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data import pipes
from seqkit.data.datasets import Folders
from seqkit.data.files import BadFileError
from seqkit.data.load import find
from seqkit.data.shards import opened
from seqkit.data.shards.index import read_index
from seqkit.data.sound.reader import Reader
from seqkit.foundation import disk
from seqkit.foundation.errors import SeqkitError
from seqkit.foundation.plugins import Catalogue

_FOR_TEXT, _FOR_LITTLE_SOUND, _FOR_MUCH_SOUND = "shakespeare", "my_sound", "wav_generation"
_LITTLE_SOUND = 1200.0  # seconds, up to which my_sound makes copies


def fitting_recipe(data: DataConfig, folders: Folders, catalogue: Catalogue) -> str:
    """The recipe for this data where none is given.

    Raises:
        ConfigError: neither path nor data set, or keys that do not fit each other.
        DataError: the data cannot be found.
    """
    if folder := opened.folder_of(data):
        return _recipe_for_shards(folder)
    found = find(data, None, catalogue, folders)
    if found.search.kind != "audio":
        return _FOR_TEXT
    return _FOR_LITTLE_SOUND if _seconds(found.files.values()) < _LITTLE_SOUND else _FOR_MUCH_SOUND


def suggested_recipe(data: DataConfig) -> str:
    """`fitting_recipe` as the key to give, as far as it can be told without reading `data.path`."""
    if data.of_rows:
        return f"recipe={_FOR_TEXT}"
    if data.path and not any(map(pipes.is_pipe, data.path)):
        with contextlib.suppress(SeqkitError):
            folders = Folders(disk.cache_dir(), lambda text: None)
            return f"recipe={fitting_recipe(data, folders, Catalogue())}"
    return "recipe=NAME"


def _seconds(files: Iterable[Path]) -> float:
    """How long some recordings are, by their headers, as far as it matters."""
    seconds = 0.0
    for file in files:
        with contextlib.suppress(BadFileError):
            recording = Reader(file)
            seconds += recording.frames / recording.sample_rate
        if seconds >= _LITTLE_SOUND:
            break
    return seconds


def _recipe_for_shards(folder: Path) -> str:
    index, _ = read_index(folder)
    if index.settings.get("kind") != "audio":
        return _FOR_TEXT
    each = ("sample_rate", "channels", "symbols_per_sample")
    rate = math.prod(index.settings.get(key, 1) for key in each)
    return _FOR_LITTLE_SOUND if index.symbols < _LITTLE_SOUND * rate else _FOR_MUCH_SOUND
