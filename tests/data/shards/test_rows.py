"""Shards of a data set's rows: each row a document, wherever the file is cut."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from seqkit.config import DataConfig
from seqkit.data import remote
from seqkit.data.corpus import Corpus
from seqkit.data.load import Known, load_corpus
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.session import Session
from tests.data.hf_store import COLUMN, store
from tests.data.shards.conftest import Prepare, encoded, read, starts_in

AUTHORS = ["mary", "ann", "bob"]
ROWS = ["a row\n" * (1 + number % 5) + "☃" * (number % 3) for number in range(40)]


@pytest.mark.parametrize("codec", ["auto", "characters"])
@pytest.mark.parametrize("size", [7, 100, 1 << 20])
def test_shards_of_rows_are_what_reading_them_gives(
    size: int, codec: str, small: Callable[[int], None], prepared: Prepare, tmp_path: Path
) -> None:
    small(size)
    path = store(tmp_path / "set", ROWS)
    data = DataConfig(kind="hf", path=[str(path)], column=COLUMN, codec=codec)
    here = remote.fetch(data, tmp_path / "cache", print)
    index = prepared(kind="hf", path=here.path, codec=codec)
    symbols, starts, spec = encoded(kind="hf", path=here.path, codec=codec)
    assert read(tmp_path / "shards", index) == symbols
    assert (starts_in(tmp_path / "shards"), index.codec) == (starts, spec)
    assert len(starts) == len(ROWS)
    assert (index.names, index.documents) == (["set"], [len(ROWS)])
    assert (index.name, index.settings["kind"]) == ("set", "text")
    if size < 200:
        assert len(index.shards) > 5


def labelled(corpus: Corpus) -> list[tuple[str, str]]:
    """The label and the text of each document."""
    whole, found = corpus.whole, corpus.labels
    assert found is not None and whole.labels is not None
    texts = [corpus.codec.decode(row) for row in np.split(whole.symbols[:], whole.starts[1:])]
    own = [found.describe(number) for number in whole.labels]
    return [*zip(own, map(str, texts), strict=True)]


@pytest.mark.parametrize("size", [7, 1 << 20])
def test_labels_of_rows_are_those_of_the_documents_that_are_left(
    size: int, small: Callable[[int], None], prepared: Prepare, tmp_path: Path
) -> None:
    small(size)
    authors = [AUTHORS[number * number % 3] for number in range(len(ROWS))]
    paths = [
        store(tmp_path / "a", [*ROWS, "☃"], authors=[*authors, "nobody"]),
        store(tmp_path / "b", ["a row\n"], authors=["a/b, jr"]),
    ]
    keys = {"kind": "hf", "label_column": "author", "max_vocabulary": 6, "unknown": "skip"}
    data = DataConfig(**keys, path=[*map(str, paths)], column=COLUMN)  # type: ignore[arg-type]
    here = remote.fetch(data, tmp_path / "cache", print)
    texts = [row.replace("☃", "") for row in ROWS]
    wanted = [*zip(authors, texts, strict=True), ("a/b, jr", "a row\n")]
    loaded = partial(load_corpus, session=Session(Catalogue(), print))
    corpus = loaded(here)
    assert labelled(corpus) == labelled(loaded(here)) == wanted
    assert corpus.labels is not None and corpus.labels.values == {
        "label": sorted({"a/b, jr", *authors})
    }
    prepared(**keys, path=here.path)
    shards = [str(tmp_path / "shards")]
    found = loaded(
        DataConfig(path=shards, label_column="author"), known=Known(labels=corpus.labels)
    )
    assert labelled(found) == wanted
    unlabelled = loaded(DataConfig(path=shards))
    assert unlabelled.labels is None and unlabelled.whole.labels is None
    with pytest.raises(ConfigError, match=r"were made with data\.label_column=author"):
        loaded(DataConfig(path=shards, label_column="writer"))


@pytest.mark.parametrize(
    "keys", [{"kind": "text"}, {"kind": "auto"}, {"kind": "hf", "label": "folder"}]
)
def test_labels_of_rows_are_for_rows_and_the_only_ones(
    keys: dict[str, str], prepared: Prepare, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("a text")
    with pytest.raises(ConfigError, match=r"data\.label_column: give data\.kind=hf"):
        prepared(path=[str(tmp_path / "a.txt")], label_column="author", **keys)
