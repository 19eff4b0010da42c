"""Data sets in the format of Hugging Face, from their hub or from the disk.

A column of text, and one of labels, is copied into `hf/` of the cache as one file, a line a row.
"""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from seqkit.config import DataConfig
from seqkit.data.files import Meter, stamp
from seqkit.data.text_encoder import line_of
from seqkit.data.url_cache import CachedCopy, call_library
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.wording import counted

_TIMEOUT = 300.0  # seconds: of Parquet many megabytes have to come for the first row
_ROWS = 100  # read at a time
_KINDS = {f".{kind}": kind for kind in ("parquet", "json", "csv", "arrow")} | {".jsonl": "json"}


def fetch(
    name: str, data: DataConfig, cache: Path, notice: Callable[[str], None], meter: Meter
) -> Path:
    """The file of rows that a data set's column was copied to, now or before.

    Args:
        name: on the hub, or a folder or file on the disk.
        data: which column, split and subset.
        cache: where the copies are.
        notice: tells the user what was copied.
        meter: shows how much that is.

    Raises:
        ConfigError: the library that reads such data sets is not installed.
        DataError: there is no such data set, split, subset or column, or it cannot be read.
        OutputError: the cache cannot be written, or its disk is full.
    """
    copy = copy_of(name, data, cache)
    try:
        with meter.shown(f"looking for {copy.path.name}", 0):
            split = call_library(name, lambda: _open_split(name, data), _TIMEOUT)
    except (DataError, ConfigError) as error:  # without a network, or without the library
        if not copy.path.exists():
            raise
        notice(f"{error}; read from its copy, {copy.path}")
        return copy.path
    if copy.has("", split.version):
        notice(f"{name}: read from its copy, {copy.path}")
        return copy.path
    of_files = f", {counted(split.files, 'file')}" if split.files else ""
    notice(f"{name}: reading {data.column} of the split {data.hf_split}{of_files}")
    written, empty, unlabelled = 0, 0, list[int]()

    def lines() -> Iterator[bytes]:
        nonlocal written, empty
        for number, (text, label) in enumerate(_rows(name, split.rows, data), 1):
            if text:
                if label in (None, ""):
                    unlabelled.append(number)
                line = line_of([str(label), text] if data.label_column else text)
                meter.add(len(line))
                yield line
            written, empty = written + bool(text), empty + (not text)
        if not written:
            raise DataError(f"{name}: the split {data.hf_split} has no text in {data.column}")
        if unlabelled:
            bad = f"{counted(len(unlabelled), 'row')} without a label, the first is {unlabelled[0]}"
            raise DataError(f"data.label_column={data.label_column}: {name} has {bad}: label them")

    with meter.shown(f"reading {copy.path.name}", 0):
        copy.write("", split.version, lines())
    without = f", {empty:,} empty ones left out" if empty else ""
    rows = f"{counted(written, 'row')}{without}, each a document"
    notice(f"{name}: {rows}, kept as {copy.path}")
    return copy.path


def copy_of(name: str, data: DataConfig, cache: Path) -> CachedCopy:
    """The copy of a data set's column, there or not, called as the data set is."""
    place = str(Path(name).absolute()) if Path(name).exists() else name
    origin = json.dumps([place, data.hf_subset, data.hf_split, *_columns(data)])
    return CachedCopy(cache, "hf", origin, Path(name).name)


def _columns(data: DataConfig) -> list[str]:
    return [data.column, *([data.label_column] if data.label_column else [])]


class _Split(NamedTuple):
    """A split of a data set, with the columns that are asked for."""

    rows: Any  # the library's stream of them, which come as they are read
    version: list[Any]  # changes with the rows
    files: int = 0  # hold the rows; 0 if that is not known


def _open_split(name: str, data: DataConfig) -> _Split:
    """The split of a data set. Raises ConfigError, DataError and what the library does."""
    try:
        import datasets
        import huggingface_hub
    except ImportError as error:
        raise ConfigError(
            f"data.kind=hf needs another package: pip install 'seqkit[hf]' ({error})"
        ) from error
    datasets.disable_progress_bars()
    for library in (datasets, huggingface_hub):  # what goes wrong is told once
        library.logging.set_verbosity(logging.CRITICAL)
    split, path, columns = data.hf_split, Path(name), _columns(data)
    was_saved = any((path / file).is_file() for file in ("state.json", "dataset_dict.json"))
    if data.hf_subset and (path.is_file() or was_saved):
        raise ConfigError(f"data.hf_subset={data.hf_subset}: {name} has no subsets: leave it out")
    if was_saved:
        saved = datasets.load_from_disk(name)
        splits = saved if isinstance(saved, datasets.DatasetDict) else {"train": saved}
        if split not in splits:
            raise DataError(f"data.hf_split={split}: {name} has only {', '.join(splits)}")
        return _Split(_narrowed(splits[split].to_iterable_dataset(), columns), _stamps(path))
    if path.is_file():
        if path.suffix not in _KINDS:
            raise DataError(f"{name}: no data set: its name ends in none of {', '.join(_KINDS)}")
        builder = datasets.load_dataset_builder(_KINDS[path.suffix], data_files=name)
    else:
        builder = datasets.load_dataset_builder(name, data.hf_subset or None)
    rows = _narrowed(builder.as_streaming_dataset(split=split), columns)
    if hasattr(builder.config, "columns"):  # as of Parquet: the bytes of the others need not come
        builder.config.columns = columns
        rows = builder.as_streaming_dataset(split=split)
    files = (builder.config.data_files or {}).get(split, [])
    return _Split(rows, [builder.cache_dir, *_stamps(path)], len(files))


def _narrowed(rows: Any, columns: list[str]) -> Any:
    """The rows with these columns alone, so that sound beside them, say, is not decoded.

    Of some formats the columns are not known before the first rows come.
    """
    return rows.select_columns(columns) if rows.column_names else rows


def _rows(name: str, rows: Any, data: DataConfig) -> Iterator[tuple[str | None, str | int | None]]:
    """The text of each row and its label, or the text once more. Raises DataError."""
    kinds = ("column", "text", str | None), ("label_column", "text or integer", str | int | None)
    batches = rows.iter(batch_size=_ROWS)
    while batch := call_library(name, lambda: next(batches, None), _TIMEOUT):
        for column, (key, what, kind) in zip(_columns(data), kinds, strict=False):
            if column not in batch:
                only = ", ".join(batch)
                raise DataError(f"data.{key}={column}: {name} has no such column, only {only}")
            for value in batch[column]:
                if not isinstance(value, kind):
                    other = type(value).__name__
                    raise DataError(f"data.{key}={column}: {name} has no {what} there, but {other}")
        yield from zip(batch[data.column], batch[_columns(data)[-1]], strict=True)


def _stamps(path: Path) -> list[list[int]]:
    """Of a file, or of all files in a folder; none of a name on the hub, which has fingerprints.

    The library's own fingerprint of files on the disk knows of nothing but their time stamps.
    """
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [stamp(file) for file in files if file.is_file()]
