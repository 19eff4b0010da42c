"""Data sets in the format of Hugging Face, from their hub or from the disk.

A column of text is copied into the cache as a file of rows: the folder `hf/KEY/` holds it, and
`hf/KEY.json` what it was copied from.
"""

import contextlib
import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from seqkit.config import DataConfig
from seqkit.data import csv_tables, file_hashes, fsspec_store
from seqkit.data.files import first_of
from seqkit.data.line_documents import line_of
from seqkit.data.meter import Meter
from seqkit.data.stamps import stamp
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError, DataError, OutputError
from seqkit.foundation.wording import counted

_PATIENCE = 300.0  # seconds: of Parquet many megabytes have to come for the first row
_AGAIN = "give the same command again; the data set is then read from its beginning"
_ROWS = 100  # read at a time
_SPLIT = re.compile(r"[\w.-]+")  # of data.hf_split, such as train+test or train[:10%]
_EACH = "data.path=FILE, once for each, reads all"
_KINDS = {
    ".parquet": "parquet",
    ".jsonl": "json",
    ".json": "json",
    ".csv": "csv",
    ".arrow": "arrow",
}
T = TypeVar("T")


def fetched(
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
        ConfigError: the library that reads such data sets is not installed; or a subset of what
            has none.
        DataError: there is no such data set, split, subset or column, or it cannot be read.
        OutputError: the cache cannot be written, or its disk is full.
    """
    copy = copy_of(name, data, cache)
    record = copy.parent.with_suffix(".json")
    known = _record(record)
    whole = file_hashes.renewed(copy, known.get("copy"), meter)
    if whole and whole != known["copy"]:
        with contextlib.suppress(OutputError):  # a cache that came with a container, for instance
            _write(record, known | {"copy": whole})
    try:
        with meter.shown(f"looking for {copy.name}", 0):
            stamps = _stamps(Path(name))
            rows, fingerprint, left_out = _asked(name, lambda: _opened(name, data))
    except (DataError, ConfigError) as error:  # without a network, or without the library
        if not whole:
            raise
        waited = isinstance(error.__cause__, ConnectionError) and not _is_offline()
        hint = " (HF_HUB_OFFLINE=1 does not try to)" if waited else ""
        notice(f"{error}{hint}; read from its copy, {copy}")
        return copy
    if left_out:
        notice(f"{name}: {left_out}")
    identity = [fingerprint, *stamps]
    if whole and known.get("from") == identity:
        notice(f"{name}: read from its copy, {copy}")
        return copy
    notice(f"{name}: reading {data.column} of the split {data.hf_split}")
    found = empty = 0
    digest = hashlib.sha256()
    with meter.shown(f"reading {copy.name}", 0), disk.atomic_write(copy) as stream:
        for texts in _texts(name, rows, data.column):
            for text in filter(None, texts):
                line = line_of(text)
                stream.write(line)
                digest.update(line)
                meter.add(len(line))
                found += 1
            empty += sum(not text for text in texts)
        if not found:
            raise DataError(f"{name}: the split {data.hf_split} has no text in {data.column}")
    _write(record, {"from": identity, "copy": file_hashes.entry_of(copy, digest.hexdigest())})
    without = f", {empty:,} empty ones left out" if empty else ""
    notice(f"{name}: {counted(found, 'row')}{without}, each a document, kept as {copy}")
    return copy


def copy_of(name: str, data: DataConfig, cache: Path) -> Path:
    """Where the copy of a data set's column is, or would be, called as the data set is."""
    asked = [absolute(name), data.hf_subset, data.hf_split, data.column]
    key = hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:32]
    return _copies(cache) / key / (Path(name).name.strip(".") or "data")


def is_away(path: str, cache: Path) -> bool:
    """Whether a path is not that of a copy."""
    return Path(path).parent.parent != _copies(cache)


def absolute(name: str) -> str:
    """The name of a data set as it is known from every folder."""
    try:
        return str(Path(name).absolute()) if Path(name).exists() else name
    except (OSError, ValueError):
        return name


def _copies(cache: Path) -> Path:
    return (cache / "hf").absolute()


def _is_saved(path: Path) -> bool:
    """Whether a folder was written by `save_to_disk`."""
    return any((path / file).is_file() for file in ("state.json", "dataset_dict.json"))


def _opened(name: str, data: DataConfig) -> tuple[Any, str, str]:
    """The column in the rows of a split, which come as they are read; what changes with it.

    The last is what there is to say of files in a folder that are not read.

    Raises:
        ConfigError: the library is not installed, or the data set has no subsets.
        DataError: there is no such split or column.
    """
    try:
        import datasets
        import huggingface_hub
        from datasets.packaged_modules.parquet.parquet import Parquet
    except ImportError as error:
        raise ConfigError(
            f"data.kind=hf needs more packages: pip install 'seqkit[hf]' ({error})"
        ) from error
    datasets.disable_progress_bars()
    for library in (datasets, huggingface_hub):  # what goes wrong is told once
        library.logging.set_verbosity(logging.CRITICAL)
    split, path = data.hf_split, Path(name)
    if data.hf_subset and (path.is_file() or _is_saved(path)):
        raise ConfigError(f"data.hf_subset={data.hf_subset}: {name} has no subsets: leave it out")
    if _is_saved(path):
        saved = datasets.load_from_disk(name)
        splits = saved if isinstance(saved, datasets.DatasetDict) else {"train": saved}
        if split not in splits:
            raise DataError(
                f"data.hf_split={split}: {name} has no such split, only {', '.join(splits)}"
            )
        saved = splits[split]
        rows = _narrowed(name, saved.to_iterable_dataset(), data.column)
        return rows, str(saved._fingerprint), ""
    if path.is_file():
        if path.suffix not in _KINDS:
            raise DataError(f"{name}: no data set: its name ends in none of {', '.join(_KINDS)}")
        builder = datasets.load_dataset_builder(_KINDS[path.suffix], data_files=name)
    else:
        builder = datasets.load_dataset_builder(name, data.hf_subset or None)
    of_splits = {str(own): files for own, files in (builder.config.data_files or {}).items()}
    if path.is_dir() and of_splits and not {*_SPLIT.findall(split)} & {*of_splits, "all"}:
        raise DataError(
            f"data.hf_split={split}: {name} has no such split, only {', '.join(of_splits)}, by the "
            f"names of its files: {_EACH}"
        )
    left_out = _left_out(path, of_splits, split) if path.is_dir() else ""
    rows = _narrowed(name, builder.as_streaming_dataset(split=split), data.column)
    if isinstance(builder, Parquet):
        builder.config.columns = [data.column]  # the bytes of the others need not come
        rows = builder.as_streaming_dataset(split=split)
    return rows, builder.cache_dir, left_out


def _left_out(folder: Path, of_splits: Mapping[str, Iterable[str]], split: str) -> str:
    """What to say of the files of rows in a folder that are not of the split; nothing of none.

    The library takes files of one ending, and of these, if a split is in the name of any, only
    those with one.
    """
    asked = {*_SPLIT.findall(split)}
    read = {file for own, files in of_splits.items() if asked & {own, "all"} for file in files}
    there = [file for file in sorted(folder.rglob("[!.]*")) if file.suffix in _KINDS]
    others = [file for file in there if str(file.resolve()) not in read]
    if not others:
        return ""
    shown = first_of([file.relative_to(folder) for file in others])
    return (
        f"{len(there) - len(others)} of {len(there)} files of rows are the split {split}, by their "
        f"names and endings; left out: {shown}; {_EACH}"
    )


def _narrowed(name: str, rows: Any, column: str) -> Any:
    """The rows with one column alone, so that sound beside it, say, is not decoded."""
    if rows.column_names is None:  # not known before the first rows come
        return rows
    _check_column(name, column, rows.column_names)
    return rows.select_columns([column])


def _check_column(name: str, column: str, found: Iterable[str]) -> None:
    if column not in found:
        place, only = _place(name, [*found]), ", ".join(found)
        raise DataError(f"data.column={column}: {place} has no such column, only {only}")


def _place(name: str, columns: Sequence[str]) -> str:
    """The file with these columns, where the CSV files of a folder differ; else the name."""
    files = sorted(Path(name).rglob("[!.]*.csv"))
    with contextlib.suppress(OSError):
        those = [*csv_tables.with_columns(files, columns)]
        return str(those[0]) if 0 < len(those) < len(files) else name
    return name


def _texts(name: str, rows: Any, column: str) -> Iterator[list[str | None]]:
    """The texts of a column, many at a time."""
    batches = rows.iter(batch_size=_ROWS)
    while batch := _asked(name, lambda: next(batches, None)):
        _check_column(name, column, batch)
        for value in batch[column]:
            if not isinstance(value, str | None):
                raise DataError(
                    f"data.column={column}: {name} has no text there, but {type(value).__name__}"
                )
        yield batch[column]


def _asked(name: str, call: Callable[[], T]) -> T:
    """What the library answers; raises as `fsspec_store.asked`."""

    def explain(error: Exception | None) -> str:
        if error is None:
            return f"{name}: nothing came for {_PATIENCE:g} s: {_AGAIN}"
        said = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, ConnectionError):
            said = "there is no such file or folder, and the hub cannot be reached"
            if _is_offline():
                said = "there is no such file or folder, and HF_HUB_OFFLINE forbids to ask the hub"
        return f"{name}: cannot be read as a data set: {said}"

    return fsspec_store.asked(call, _PATIENCE, explain)


def _is_offline() -> bool:
    """Whether the user has told the library to use what is on the disk alone."""
    from huggingface_hub.constants import HF_HUB_OFFLINE

    return bool(HF_HUB_OFFLINE)


def _write(record: Path, known: dict[str, Any]) -> None:
    """Note what a copy was made of, and how the copy itself is known. Raises OutputError."""
    with disk.atomic_write(record) as stream:
        stream.write(json.dumps(known).encode())


def _record(path: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        known = json.loads(path.read_bytes())
        if isinstance(known, dict):
            return known
    return {}


def _stamps(path: Path) -> list[list[int]]:
    """Of a file, or of all files in a folder; none of a name on the hub, which has fingerprints.

    The library's own fingerprint of files on the disk knows of nothing but their time stamps.
    """
    with contextlib.suppress(OSError, ValueError):  # what is wrong is told by who reads it
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        return [stamp(file.stat()) for file in files if file.is_file()]
    return []
