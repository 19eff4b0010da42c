"""A column of a data set is copied into the cache as a file of rows."""

import json
import sys
from pathlib import Path

import pytest

from seqkit.config import DataConfig
from seqkit.data import remote
from seqkit.foundation.errors import ConfigError, DataError
from tests.data.hf_store import COLUMN, damage, store
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
    labels: str = "",
) -> Path:
    data = DataConfig(kind="hf", path=[str(path)], column=column, hf_split=split, hf_subset=subset)
    data.label_column = labels
    said = list[str]() if told is None else told
    here = remote.fetch(data, cache, said.append)
    return Path(here.path[0])


def documents(file: Path) -> list[object]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "saved", "splits"])
def test_every_row_is_a_document(kind: str, tmp_path: Path) -> None:
    path = store(tmp_path / "set", TEXTS, kind)
    file = fetch(path, tmp_path / "cache")
    assert (file.name, documents(file)) == (path.name, TEXTS)


def test_of_parquet_one_column_is_read(tmp_path: Path) -> None:
    path = store(tmp_path / "set", TEXTS)
    damage(path / "train-00000.parquet", column=0)
    assert documents(fetch(path, tmp_path / "cache")) == TEXTS
    with pytest.raises(DataError, match="cannot be read"):
        fetch(path, tmp_path / "cache", column="n")


def test_empty_rows_are_left_out_and_told(tmp_path: Path) -> None:
    told = list[str]()
    file = fetch(store(tmp_path / "set", ["one", None, "", "two"]), tmp_path / "cache", told)
    assert documents(file) == ["one", "two"]
    assert "2 rows, 2 empty ones left out, each a document" in told[-1]


def test_a_data_set_is_read_again_only_when_it_changed(tmp_path: Path) -> None:
    told, cache = list[str](), tmp_path / "cache"
    path = store(tmp_path / "set", TEXTS)
    file = fetch(path, cache)
    assert fetch(path, cache, told) == file
    assert told == [f"{path}: read from its copy, {file}"]
    file.write_bytes(b"altered in the cache")
    assert documents(fetch(path, cache)) == TEXTS
    store(tmp_path / "set", TEXTS[:1])
    assert documents(fetch(path, cache)) == TEXTS[:1]


def test_the_copy_is_found_without_asking(tmp_path: Path) -> None:
    cache, path = tmp_path / "cache", store(tmp_path / "set", TEXTS)
    data = DataConfig(kind="hf", path=[str(path)], column=COLUMN)
    assert remote.is_uncached(data, cache, remote.cached(data, cache).path[0])
    file = fetch(path, cache)
    kept = remote.cached(data, cache)
    assert kept.path == [str(file)]
    assert not remote.is_uncached(data, cache, kept.path[0])


@pytest.mark.parametrize(
    ("column", "split", "said"),
    [
        ("text", "train", "cannot be read: ValueError: Column name .'text'. not in .*'n', 'body'"),
        ("n", "train", "data.column=n: .* has no text there, but int"),
        (COLUMN, "dev", "data.hf_split=dev: .* has only train, test"),
    ],
)
def test_what_is_not_there_is_named(column: str, split: str, said: str, tmp_path: Path) -> None:
    path = store(tmp_path / "set", TEXTS, "splits")
    with pytest.raises(DataError, match=said):
        fetch(path, tmp_path / "cache", column=column, split=split)
    assert not files_in(tmp_path / "cache")


def test_a_data_set_that_cannot_be_reached_is_read_from_its_copy(tmp_path: Path) -> None:
    path, cache, told = store(tmp_path / "set", TEXTS), tmp_path / "cache", list[str]()
    file = fetch(path, cache)
    path.rename(tmp_path / "moved")
    assert fetch(path, cache, told) == file
    assert ": cannot be read: " in told[0]
    assert told[0].endswith(f"; read from its copy, {file}")
    with pytest.raises(DataError, match="nobody/nothing: cannot be read: "):
        fetch("nobody/nothing", cache)


def test_the_library_is_asked_for_unless_there_is_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, cache, told = store(tmp_path / "set", TEXTS), tmp_path / "cache", list[str]()
    file = fetch(path, cache)
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert fetch(path, cache, told) == file
    assert told[0].endswith(f"; read from its copy, {file}")
    with pytest.raises(ConfigError, match=r"pip install 'seqkit\[hf\]'"):
        fetch("someone/books", cache)


def test_arrow_is_read_and_what_is_no_table_refused(tmp_path: Path) -> None:
    saved = store(tmp_path / "set", TEXTS, "saved")
    (file,) = saved.glob("*.arrow")
    assert documents(fetch(file, tmp_path / "cache")) == TEXTS
    (tmp_path / "a.txt").write_text("a text")
    with pytest.raises(DataError, match=r"a\.txt: no data set: its name ends in none of \.parquet"):
        fetch(tmp_path / "a.txt", tmp_path / "cache")


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "saved", "splits"])
def test_labelled_rows_are_copied_with_their_labels(kind: str, tmp_path: Path) -> None:
    cache, authors = tmp_path / "cache", ["ann", None, "bob", "ann"]
    path = store(tmp_path / "set", ["one", "", "two\nlines", "☃"], kind, authors)
    labelled = fetch(path, cache, labels="author")
    assert documents(labelled) == [["ann", "one"], ["bob", "two\nlines"], ["ann", "☃"]]
    numbered = fetch(path, cache, labels="n")
    assert documents(numbered) == [["0", "one"], ["2", "two\nlines"], ["3", "☃"]]
    assert documents(fetch(path, cache)) == ["one", "two\nlines", "☃"]
    told = list[str]()
    assert fetch(path, cache, told, labels="author") == labelled != numbered
    assert "read from its copy" in told[-1]


@pytest.mark.parametrize(
    ("authors", "column", "said"),
    [
        ("abc", "writer", r"writer.*'?n'?, '?body'?, '?author'?"),
        (["ann", None, ""], "author", "author: .* has 2 rows without a label, the first is 2: "),
        (
            [0.5, 1.5, 2.5],
            "author",
            "data.label_column=author: .* has no text or integer there, but float",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_what_labels_no_row_is_refused(
    kind: str, authors: list[object], column: str, said: str, tmp_path: Path
) -> None:
    path = store(tmp_path / "set", TEXTS, kind, authors)
    with pytest.raises(DataError, match=said):
        fetch(path, tmp_path / "cache", labels=column)
    assert not files_in(tmp_path / "cache")


@pytest.mark.parametrize("kind", ["jsonl", "saved"])
def test_what_has_no_subsets_takes_none(kind: str, tmp_path: Path) -> None:
    path = store(tmp_path / "set", TEXTS, kind)
    with pytest.raises(ConfigError, match=r"data\.hf_subset=english: .* has no subsets"):
        fetch(path, tmp_path / "cache", subset="english")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (DataConfig(path=["a.txt"], column="body"), "data.column=body is for data sets"),
        (DataConfig(kind="hf", path=["a"], pattern="*.c"), r"data.pattern=\*.c is for files"),
        (DataConfig(kind="hf"), "give data.path=NAME"),
    ],
)
def test_keys_that_do_not_go_together(data: DataConfig, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        remote.fetch(data, tmp_path, print)
