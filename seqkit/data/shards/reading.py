"""A folder of shards as a corpus."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from seqkit.config import DataConfig
from seqkit.data import codecs, remote
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.data.shards.index import (
    INDEX,
    REMEDY,
    STARTS_DTYPE,
    Index,
    as_prepared,
    is_shards,
    read_index,
)
from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.wording import counted
from seqkit.symbols import Integers, symbol_dtype


def folder_of(data: DataConfig) -> Path | None:
    """The folder of shards that `data.path` names; None if it names something else.

    Raises:
        ConfigError: it names other data, too.
    """
    folders = [path for path in map(Path, data.path) if is_shards(path)]
    if folders and len(data.path) > 1:
        raise ConfigError(f"{folders[0]} holds shards: give it as the only data.path")
    return folders[0] if folders else None


def with_prepared_keys(data: DataConfig) -> DataConfig:
    """The keys with those that the shards of `data.path`, if it names any, were made with.

    Of a URL the copy in the cache is looked at, if there is one.

    Raises:
        ConfigError: one was given that asks for something else.
        DataError: the index cannot be read.
    """
    folder = folder_of(remote.cached(data, disk.cache_dir()))
    return data if folder is None else as_prepared(data, folder, read_index(folder)[0].settings)


def load(
    data: DataConfig,
    folder: Path,
    *,
    catalogue: Catalogue,
    codec: Codec | None = None,
) -> Corpus:
    """The corpus of the shards in a folder, of which no symbol is read now.

    Args:
        data: keys, none of which may ask for something else.
        folder: of the shards.
        catalogue: where their codec is looked for.
        codec: a checkpoint's, which has to be the same.

    Raises:
        ConfigError: a key asks for something else, or the codec is another.
        DataError: the index or the starts are damaged, or a shard missing, cut short or extended.
    """
    index, sha256 = read_index(folder)
    as_prepared(data, folder, index.settings)
    try:
        kept = codecs.from_spec(index.codec, catalogue)
    except ValueError as error:
        raise DataError(f"{folder / INDEX}: damaged ({error}): {REMEDY}") from error
    if symbol_dtype(kept.size).name != index.dtype:
        raise DataError(f"{folder / INDEX}: damaged: {index.dtype} is not for {kept.size} symbols")
    if codec is not None and codec.to_spec() != kept.to_spec():
        raise ConfigError(
            f"{folder}: the shards were made with another vocabulary than the checkpoint's, or "
            "another codec: give the files that they were made of as data.path"
        )
    return corpus_of(index, folder, kept, sha256, REMEDY, in_shards=True)


def corpus_of(
    index: Index, folder: Path, codec: Codec, sha256: str, remedy: str, *, in_shards: bool = False
) -> Corpus:
    """The corpus of shards, of which no symbol is read now; `remedy` says what helps if damaged.

    Raises:
        DataError: the starts are damaged, or a shard missing, cut short or extended.
    """
    symbols = index.stored(folder, codec.size, remedy)
    starts, *of_rows = read_starts(folder, index)
    frame = codec.phases if isinstance(codec, Quantiser) else 1
    return Corpus(
        whole=Part(symbols, starts, frame=frame, in_shards=in_shards),
        codec=codec,
        name=index.name,
        sha256=sha256,
        bytes=index.bytes,
        skipped=index.skipped,
        unreadable_files=index.unreadable_files,
        files=tuple(zip(index.names, index.documents, strict=True)),
        row_labels=(index.labels, of_rows[0]) if of_rows else None,
        whole_documents=index.whole_documents,
        validation_start=index.validation_start,
        test_start=index.test_start,
        snr=index.snr,
        licence=index.licence,
        citation=index.citation,
        notes=tuple(_notes(index, codec)),
    )


def read_starts(folder: Path, index: Index) -> Integers:
    """Where all documents start, (1, D), and of labelled rows their places in the labels, (2, D).

    Raises:
        DataError: they cannot be read, or are not those that the index was written with.
    """
    path = folder / index.starts
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {disk.describe(error)}") from error
    if hashlib.sha256(content).hexdigest() != index.starts_sha256:
        raise DataError(f"{path}: altered: it is not as prepare wrote it: {REMEDY}")
    shape = 1 + bool(index.labels), index.document_count
    if len(content) != np.prod(shape) * np.dtype(STARTS_DTYPE).itemsize:
        raise DataError(f"{path}: damaged: {REMEDY}")
    both = np.frombuffer(content, STARTS_DTYPE).reshape(shape)
    starts, *_ = both
    rising = not starts[0] and starts[-1] < index.symbols and (starts[1:] > starts[:-1]).all()
    if not rising:
        raise DataError(f"{path}: damaged: starts of documents that do not rise: {REMEDY}")
    return both


def _notes(index: Index, codec: Codec) -> Iterator[str]:
    """What the index keeps of what was told when the shards were prepared, in a line."""
    parts = [counted(len(index.names), "file")]
    if index.document_count != len(index.names):
        parts.append(f"{index.document_count:,} documents")
    files = index.skipped if codec.kind == "audio" else index.unreadable_files
    if files:
        parts.append(f"{counted(files, 'file')} left out")
    if index.skipped and codec.kind != "audio":
        parts.append(f"{counted(index.skipped, 'character')} left out")
    if len(parts) > 1 or len(index.names) > 1:
        yield f"prepared from {index.name}: {', '.join(parts)}"
