"""The format: a folder of shards, which are raw symbols in little endian, and index.json.

Where documents start is in a file of its own, starts.int64: 64-bit integers, for there may be a
document for every row of a data set. The place in `labels` of each document's label follows.
"""

import contextlib
import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.config import DataConfig
from seqkit.data.symbol_files import BLOCK, StoredFile, StoredSymbols
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.settings import check_section, check_type

INDEX, STARTS = "index.json", "starts.int64"
STARTS_DTYPE = "<i8"
UNFINISHED = "prepare.json"
"""What a preparation that is not finished has in its folder."""
REMEDY = "prepare the data again, with overwrite=true, or put the file back as it was"
"""What to do about shards that are damaged."""
_FORMAT = "seqkit shards"
_VERSION = 1
_DTYPES = ("uint8", "uint16", "uint32")
_SHARD = re.compile(r"\d{6,}(-[0-9a-f]{8})?\.bin")
_STARTS = re.compile(r"starts(-[0-9a-f]{8})?\.int64")
OF_TEXT = ("encoding", "newline", "leave_out", "document", "unknown", "max_vocabulary")
_SAMPLES = ("sample_rate", "channel", "channels", "levels", "symbols_per_sample")
OF_SOUND = (*_SAMPLES, "gain", "emphasis", "bands")
"""The keys that symbols of text, and of sound, depend on."""
OF_FILES = ("pattern", "validation", "test", "label_column")
"""The keys that say what files and rows are for."""
_ALL = ("kind", "codec", *OF_FILES, *OF_TEXT, *OF_SOUND)
_LATER = ("label_column", "emphasis", "bands", "document", "validation", "test", "leave_out")
MARK = f'"format": "{_FORMAT}"'.encode()
"""How an index begins."""


@dataclass(frozen=True)
class Shard:
    """One file: its name, how many symbols it has, its sha256, and that of each block."""

    file: str
    symbols: int
    sha256: str
    blocks: list[str]


@dataclass(frozen=True)
class Index:
    """What is in the shards, one after the other.

    name: what the data is called.
    codec: the spec from which `codecs.from_spec` rebuilds the codec.
    settings: the keys of `data.*` that the symbols depend on.
    dtype: uint8, uint16 or uint32.
    names, documents: what files are called, in their order, and how many documents each has.
    starts_sha256: of the file that says where documents start.
    starts: its name.
    block_bytes: how many bytes of a shard each sha256 in `Shard.blocks` is of.
    findings: what was found in the files.
    labels: those of rows, each once.
    skipped, unreadable_files, whole_documents, validation_start, test_start, snr, licence,
        citation: as in `Corpus`.
    """

    name: str
    codec: dict[str, Any]
    settings: dict[str, Any]
    dtype: str
    shards: list[Shard]
    names: list[str]
    documents: list[int]
    starts_sha256: str
    skipped: int = 0
    unreadable_files: int = 0
    whole_documents: bool = False
    validation_start: int | None = None
    test_start: int | None = None
    snr: float | None = None
    licence: str = ""
    citation: str = ""
    starts: str = STARTS
    block_bytes: int = BLOCK
    findings: dict[str, Any] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)

    @property
    def symbols(self) -> int:
        """In all shards."""
        return sum(shard.symbols for shard in self.shards)

    @property
    def document_count(self) -> int:
        """Of all files."""
        return sum(self.documents)

    @property
    def itemsize(self) -> int:
        """Bytes of a symbol."""
        return np.dtype(self.dtype).itemsize

    @property
    def bytes(self) -> int:
        """Of all shards."""
        return self.symbols * self.itemsize

    def stored(self, folder: Path, size: int, remedy: str = REMEDY) -> StoredSymbols:
        """All symbols of the shards in a folder, each below `size`.

        Raises:
            DataError: a shard is missing, or longer or shorter than it was.
        """
        files = [
            StoredFile(folder / shard.file, shard.symbols, shard.blocks, self.block_bytes)
            for shard in self.shards
        ]
        return StoredSymbols.of(files, size, remedy)

    def save(self, folder: Path) -> None:
        """Write index.json. Raises OutputError."""
        values = {"format": _FORMAT, "version": _VERSION, **dataclasses.asdict(self)}
        if not self.labels:  # as before there were any
            del values["labels"]
        content = json.dumps({**values, "sha256": digest(values)})
        with disk.atomic_write(folder / INDEX) as stream:
            stream.write(content.encode())


def is_shards(folder: Path) -> bool:
    """Whether a folder holds shards that are finished, though their index may be lost by now.

    They are known by an index.json that begins as ours does, and without one by a starts.int64
    beside a shard.
    """
    with contextlib.suppress(OSError), (folder / INDEX).open("rb") as stream:
        if MARK in stream.read(2 * len(MARK)):
            return True
    with contextlib.suppress(OSError):
        names = [] if are_unfinished(folder) else [file.name for file in folder.iterdir()]
        return any(map(_STARTS.fullmatch, names)) and any(map(_SHARD.fullmatch, names))
    return False


def are_unfinished(folder: Path) -> bool:
    """Whether a folder holds shards of a first preparation that was stopped."""
    with contextlib.suppress(OSError):  # whoever reads the folder finds out why
        return (folder / UNFINISHED).is_file() and not (folder / INDEX).exists()
    return False


def read_index(folder: Path) -> tuple[Index, str]:
    """The index of a folder, and its sha256, which stands for all data.

    Raises:
        DataError: it is missing, cannot be read, is damaged, or of a newer format.
    """
    path = folder / INDEX
    try:
        values = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise DataError(f"{path}: missing: {REMEDY}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {disk.describe(error)}") from error
    except (ValueError, RecursionError) as error:  # thousands of brackets
        raise DataError(f"{path}: damaged: {REMEDY}") from error
    if not isinstance(values, dict) or values.pop("format", None) != _FORMAT:
        raise DataError(f"{path}: damaged: {REMEDY}")
    version = values.get("version")
    if isinstance(version, int) and version > _VERSION:
        raise DataError(f"{path}: format {version} is newer than this seqkit: take a newer one")
    sha256 = values.pop("sha256", None)
    if sha256 != digest({"format": _FORMAT, **values}):
        raise DataError(f"{path}: altered: it is not as prepare wrote it: {REMEDY}")
    try:
        return _checked(values), sha256
    except (ConfigError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: damaged ({error}): {REMEDY}") from error


def _checked(values: Mapping[str, Any]) -> Index:
    """The index with these values. Raises ConfigError, KeyError, TypeError or ValueError."""
    known = {item.name for item in dataclasses.fields(Index)}
    kept = {key: value for key, value in values.items() if key in known}
    index = Index(**{**kept, "shards": [Shard(**shard) for shard in values["shards"]]})
    records: list[Index | Shard] = [index, *index.shards]
    for record in records:
        for item in dataclasses.fields(record):
            check_type(item.name, getattr(record, item.name), item.type)
    keys = {item.name for item in dataclasses.fields(DataConfig)} & index.settings.keys()
    check_section(DataConfig(**{key: index.settings[key] for key in keys}), "settings.")
    if index.dtype not in _DTYPES or index.block_bytes < 1 or not _STARTS.fullmatch(index.starts):
        raise ValueError("an unknown kind of shards")
    if not index.shards or not index.names or len(index.names) != len(index.documents):
        raise ValueError("no shards, or files without documents")
    if min(index.documents) < 1:
        raise ValueError("files without documents")
    begins = [at for at in (index.validation_start, index.test_start) if at is not None]
    if begins != sorted(begins) or any(not 0 <= at < index.symbols for at in begins):
        raise ValueError(f"parts that begin at {begins}, of {index.symbols} symbols")
    for shard in index.shards:
        blocks = -(-shard.symbols * index.itemsize // index.block_bytes)
        if shard.symbols < 1 or len(shard.blocks) != blocks or not _SHARD.fullmatch(shard.file):
            raise ValueError(f"shard {shard.file!r}")
    return index


def digest(values: Any) -> str:
    """What changes with JSON values; of an index without its own sha256."""
    content = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


def asked_for(data: DataConfig) -> dict[str, Any]:
    """All keys that the symbols depend on."""
    settings = {key: getattr(data, key) for key in (*_ALL, "on_bad_file")}
    for key in _LATER:  # as before there was any
        if settings[key] == getattr(DataConfig(), key):
            del settings[key]
    return settings


def unlike(data: DataConfig, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that ask for something else than shards were made with, and what these have."""
    defaults, differing = DataConfig(), {}
    for key in _ALL:
        default = getattr(defaults, key)
        prepared = settings.get(key, default)
        if getattr(data, key) not in (prepared, default):
            differing[key] = prepared
    return differing


def as_prepared(data: DataConfig, folder: Path, settings: Mapping[str, Any]) -> DataConfig:
    """The keys with those that the shards in a folder were made with.

    Raises:
        ConfigError: some ask for something else.
    """
    if differing := unlike(data, settings):
        asked = " ".join(f"data.{key}={getattr(data, key)}" for key in differing)
        prepared = " ".join(f"data.{key}={value}" for key, value in differing.items())
        raise ConfigError(
            f"{asked}: the shards in {folder} were made with {prepared}: give "
            f"{'that' if len(differing) == 1 else 'those'}, or prepare the data again"
        )
    known = {key: value for key, value in settings.items() if key in _ALL}
    return dataclasses.replace(data, **known)


def read_checked(path: Path) -> dict[str, Any] | None:
    """What was written; None if the file is not there, or damaged."""
    try:
        content = json.loads(path.read_bytes())
        value, written = content["value"], content["sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return value if isinstance(value, dict) and written == digest(value) else None


def write_checked(path: Path, value: Mapping[str, Any]) -> None:
    """Remember JSON values, as `json.loads` gives them. Raises OutputError."""
    content = json.dumps({"sha256": digest(value), "value": value}).encode()
    with disk.atomic_write(path) as stream:
        stream.write(content)
