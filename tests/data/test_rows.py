"""Rows of a data set: each is a document."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from seqkit.config import DataConfig
from seqkit.data import files, text_encoder
from seqkit.data.corpus import Corpus
from seqkit.data.files import BadFileError
from seqkit.data.load import load_corpus
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session

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
