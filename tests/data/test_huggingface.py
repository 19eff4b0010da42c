"""A column of a data set is copied into the cache as a file of rows."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from seqkit.config import DataConfig
from seqkit.data import elsewhere
from seqkit.foundation.errors import ConfigError, DataError
from tests.data.hf_store import COLUMN, store
from tests.data.stores import files_in

TEXTS = ["one", "two\nlines", "☃"]


def fetch(
    path: Path | str,
    cache: Path,
    told: list[str] | None = None,
    *,
    column: str = COLUMN,
    split: str = "train",
    subset: str = "",
) -> Path:
    data = DataConfig(kind="hf", path=[str(path)], column=column, hf_split=split, hf_subset=subset)
    said = list[str]() if told is None else told
    here = elsewhere.fetch(data, cache, said.append)
    return Path(here.path[0])


def documents(file: Path) -> list[object]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "saved", "splits"])
def test_every_row_is_a_document(kind: str, tmp_path: Path) -> None:
    path = store(tmp_path / "set", TEXTS, kind)
    file = fetch(path, tmp_path / "cache")
    assert (file.name, documents(file)) == (path.name, TEXTS)


def test_a_data_set_is_read_again_only_when_it_changed(tmp_path: Path) -> None:
    told, cache = list[str](), tmp_path / "cache"
    path = store(tmp_path / "set", TEXTS)
    file = fetch(path, cache)
    assert fetch(path, cache, told) == file
    assert told == [f"{path}: read from its copy, {file}"]
    store(tmp_path / "set", TEXTS[:1])
    assert documents(fetch(path, cache)) == TEXTS[:1]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"column": "text"}, "data.column=text: .* has no such column, only n, body"),
        ({"split": "dev"}, r"ValueError: Bad split: dev. Available splits: \['train', 'test'\]"),
        ({"subset": "english"}, "ValueError: BuilderConfig 'english' not found"),
    ],
)
def test_what_is_not_there_is_named(keys: dict[str, Any], said: str, tmp_path: Path) -> None:
    kind = "splits" if "split" in keys else "jsonl"
    path = store(tmp_path / "set", TEXTS, kind)
    with pytest.raises(DataError, match=said):
        fetch(path, tmp_path / "cache", **keys)
    assert not files_in(tmp_path / "cache")


def test_cells_are_read_as_text_whatever_they_are(tmp_path: Path) -> None:
    path = store(tmp_path / "set", TEXTS, authors=[0.5, None, 2.5])
    assert documents(fetch(path, tmp_path / "cache", column="n")) == ["0", "1", "2"]
    assert documents(fetch(path, tmp_path / "cache", column="author")) == ["0.5", "2.5"]


def test_a_data_set_on_the_hub_is_asked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    with pytest.raises(DataError, match="nobody/nothing: cannot be read: "):
        fetch("nobody/nothing", cache)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ConfigError, match=r"pip install 'seqkit\[hf\]'"):
        fetch("nobody/nothing", cache)
    data = DataConfig(kind="hf", column=COLUMN)
    copy = elsewhere.copy_of_rows("nobody/nothing", data, cache)
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text('"a row"\n')
    assert fetch("nobody/nothing", cache) == copy
