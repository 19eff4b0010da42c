"""Data sets in the format of Hugging Face, from their hub or from the disk.

A column of text, and one of labels, is copied into `hf/` of the cache as one file, a line a row:
once, until somebody removes it, or the files on the disk change.
"""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data.files import Meter, stamp
from seqkit.data.remote import copy_in, failures_told
from seqkit.data.text_encoder import line_of
from seqkit.foundation import disk
from seqkit.foundation.console import Notice
from seqkit.foundation.errors import DataError
from seqkit.foundation.wording import counted


def fetch(name: str, data: DataConfig, cache: Path, notice: Notice, meter: Meter) -> Path:
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
    copy, count = copy_of(name, data, cache), 0
    if copy.exists():
        notice(f"{name}: read from its copy, {copy}")
        return copy
    with (
        failures_told(name, "hf"),
        meter.shown(f"reading {copy.name}", 0),
        disk.atomic_write(copy) as stream,
    ):
        for row in _rows(name, _builder(name, data), data):
            count += 1
            meter.add(stream.write(line_of(row if data.label_column else row[0])))
        if not count:
            raise DataError(f"{name}: the split {data.hf_split} has no text in {data.column}")
    notice(f"{name}: {counted(count, 'row')}, each a document, kept as {copy}")
    return copy


def copy_of(name: str, data: DataConfig, cache: Path) -> Path:
    """The copy of a data set's column, there or not, called as the data set is."""
    path = Path(name)
    files = sorted(path.rglob("*")) if path.is_dir() else [path] if path.is_file() else []
    place = [[str(file.absolute()), *stamp(file)] for file in files if file.is_file()] or name
    origin = json.dumps([place, data.hf_subset, data.hf_split, data.column, data.label_column])
    return copy_in(cache / "hf", origin, path.name)


def _builder(name: str, data: DataConfig) -> Any:
    """What makes the data set. Raises what the library does."""
    import datasets
    import huggingface_hub

    datasets.disable_progress_bars()
    for library in (datasets, huggingface_hub):  # what goes wrong is told once
        library.logging.set_verbosity(logging.CRITICAL)
    path, subset = Path(name), data.hf_subset or None
    if path.is_file():
        files = {data.hf_split: path.name}
        return datasets.load_dataset_builder(str(path.absolute().parent), subset, data_files=files)
    return datasets.load_dataset_builder(name, subset)


def _rows(name: str, builder: Any, data: DataConfig) -> Iterator[list[str]]:
    """The text of each row that has some, or its label and text, whatever types the cells are of.

    Raises DataError for a column that is not there, or a row without a label.
    """
    keys = ("label_column", "column") if data.label_column else ("column",)
    columns = [getattr(data, key) for key in keys]
    rows = builder.as_streaming_dataset(data.hf_split)
    if rows.column_names:  # sound beside them, say, is not decoded
        rows = rows.select_columns([each for each in rows.column_names if each in columns])
    for number, row in enumerate(rows, 1):
        for key, column in zip(keys, columns, strict=True):
            if column not in row:
                only = ", ".join(builder.info.features or row)
                raise DataError(f"data.{key}={column}: {name} has no such column, only {only}")
        cells = ["" if row[column] is None else str(row[column]) for column in columns]
        if cells[-1]:
            if not cells[0]:
                raise DataError(f"data.label_column={columns[0]}: row {number} has no label")
            yield cells
