"""Data sets on the disk in the formats of Hugging Face."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("datasets") is None:
    pytest.skip("needs the package datasets", allow_module_level=True)

COLUMN = "body"


def rows(texts: Sequence[str | None], authors: Sequence[object] = ()) -> Any:
    """A data set of two columns, one of them text, and a third with authors, if there are any."""
    import datasets  # within: every process of the tests imports this module, few use it

    found: list[dict[str, Any]] = [{"n": n, COLUMN: text} for n, text in enumerate(texts)]
    for row, author in zip(found, authors, strict=False):
        row["author"] = author
    return datasets.Dataset.from_list(found)


def store(
    folder: Path,
    texts: Sequence[str | None],
    kind: str = "parquet",
    authors: Sequence[object] = (),
) -> Path:
    """Write a data set with the split train, and what to give as data.path."""
    import datasets

    folder.mkdir(exist_ok=True)
    datasets.disable_progress_bars()
    found = rows(texts, authors)
    match kind:
        case "parquet":
            found.to_parquet(folder / "train-00000.parquet")
            return folder
        case "jsonl":
            found.to_json(folder / "train.jsonl")
            return folder / "train.jsonl"
        case "saved":
            found.save_to_disk(folder / "saved")
            return folder / "saved"
        case "splits":
            splits = datasets.DatasetDict({"train": found, "test": rows(["a test"])})
            splits.save_to_disk(folder / "splits")
            return folder / "splits"
    raise ValueError(kind)
