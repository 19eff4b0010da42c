"""Rows of a data set: each is a document, and may have a label."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from seqkit.config import DataConfig
from seqkit.data import elsewhere, files, text_encoder
from seqkit.data.corpus import Corpus
from seqkit.data.files import BadFileError
from seqkit.data.load import Known, load_corpus
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.session import Session
from tests.data.hf_store import COLUMN, store

AUTHORS = ["mary", "ann", "bob"]
ROWS = ["a row\n" * (1 + number % 5) + "☃" * (number % 3) for number in range(40)]
ODD = ["one\nand\ttwo", 'a "quoted" one\r\n', "☃ \u2028 \x1e \0", "\U0001f600" * 3]
loaded = partial(load_corpus, session=Session(Catalogue(), print))


def documents(corpus: Corpus) -> list[str]:
    whole = corpus.whole
    return [str(corpus.codec.decode(row)) for row in np.split(whole.symbols, whole.starts[1:])]


@pytest.mark.parametrize("block", [7, 1 << 20])
@pytest.mark.parametrize("newline", ["keep", "lf"])
def test_documents_come_back_as_they_were(
    newline: str, block: int, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_BLOCK", block)
    file = tmp_path / "rows"
    file.write_bytes(b"".join(map(text_encoder.line_of, ODD)))
    corpus = loaded(DataConfig(kind="hf", path=[str(file)], newline=newline))
    wanted = [row.replace("\r\n", "\n") if newline == "lf" else row for row in ODD]
    assert documents(corpus) == wanted


@pytest.mark.parametrize("damaged", [b'"cut sho', b'"a"\nnothing\n', b'"a"\n{"b": \n'])
def test_a_damaged_file_is_refused(damaged: bytes, tmp_path: Path, cache: Path) -> None:
    (tmp_path / "rows").write_bytes(damaged)
    with pytest.raises(BadFileError, match="damaged: remove it"):
        loaded(DataConfig(kind="hf", path=[str(tmp_path / "rows")]))


def labelled(corpus: Corpus) -> list[tuple[str, str]]:
    """The label and the text of each document."""
    assert corpus.labels is not None and corpus.whole.labels is not None
    own = [corpus.labels.describe(number) for number in corpus.whole.labels]
    return [*zip(own, documents(corpus), strict=True)]


def test_labels_of_rows_are_those_of_the_documents_that_are_left(
    tmp_path: Path, cache: Path
) -> None:
    authors = [AUTHORS[number * number % 3] for number in range(len(ROWS))]
    paths = [
        store(tmp_path / "a", [*ROWS, "☃"], authors=[*authors, "nobody"]),
        store(tmp_path / "b", ["a row\n"], authors=["a/b, jr"]),
    ]
    keys = {"kind": "hf", "label_column": "author", "max_vocabulary": 6, "unknown": "skip"}
    data = DataConfig(**keys, path=[*map(str, paths)], column=COLUMN)  # type: ignore[arg-type]
    here = elsewhere.fetch(data, cache, print)
    texts = [row.replace("☃", "") for row in ROWS]
    wanted = [*zip(authors, texts, strict=True), ("a/b, jr", "a row\n")]
    corpus = loaded(here)
    again = loaded(here, known=Known(labels=corpus.labels))
    assert labelled(corpus) == labelled(again) == wanted
    assert corpus.labels is not None
    assert corpus.labels.values == {"label": sorted({"a/b, jr", *authors})}


@pytest.mark.parametrize(
    "keys", [{"kind": "text"}, {"kind": "auto"}, {"kind": "hf", "label": "folder"}]
)
def test_labels_of_rows_are_for_rows_and_the_only_ones(
    keys: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("a text")
    with pytest.raises(ConfigError, match=r"data\.label_column: give data\.kind=hf"):
        loaded(DataConfig(path=[str(tmp_path / "a.txt")], label_column="author", **keys))  # type: ignore[arg-type]
