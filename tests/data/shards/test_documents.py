"""Shards of files that are cut into documents: wherever a shard ends, a document does, too."""

from pathlib import Path

import pytest

from seqkit.config import DataConfig
from seqkit.data.load import load_corpus
from seqkit.data.shards.index import read_index
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.session import Session
from tests.data.shards.conftest import Prepare, Small, encoded, read, starts_in

CUTS = {"line": "\r\n", "blank_line": "\n\n", "***": "\n***\n"}


def written(folder: Path, between: str) -> list[Path]:
    """Two files with these between their documents."""
    documents = [f"né à {number}" * (1 + number % 4) for number in range(60)]
    halves = documents[:40], documents[40:]
    for number, half in enumerate(halves):
        (folder / f"{number}.txt").write_text(between.join(half), newline="")
    return [folder / "0.txt", folder / "1.txt"]


@pytest.mark.parametrize("document", CUTS)
@pytest.mark.parametrize("size", [1, 7, 100])
def test_shards_have_the_documents_of_their_files(
    size: int, document: str, small: Small, prepared: Prepare, tmp_path: Path
) -> None:
    paths = [*map(str, written(tmp_path, CUTS[document]))]
    symbols, starts, spec = encoded(path=paths, document=document)
    assert len(starts) == 60
    small(size)
    index = prepared(path=paths, document=document)
    assert len(index.shards) > 5
    assert read(tmp_path / "shards", index) == symbols
    assert (starts_in(tmp_path / "shards"), index.codec) == (starts, spec)
    assert (index.documents, index.whole_documents) == ([40, 20], True)


def test_shards_keep_how_they_were_cut(prepared: Prepare, tmp_path: Path) -> None:
    paths = [*map(str, written(tmp_path, "\n"))]
    prepared(path=paths, document="line")
    shards = tmp_path / "shards"
    assert read_index(shards)[0].settings["document"] == "line"
    session = Session(Catalogue(), print)
    corpus = load_corpus(DataConfig(path=[str(shards)], document="line"), session)
    training, validation, _ = corpus.split([0.5, 0.5, 0.0])
    assert len(training.starts) + len(validation.starts) == 60  # none is cut
    with pytest.raises(ConfigError, match="document"):
        load_corpus(DataConfig(path=[str(shards)], document="blank_line"), session)


def test_what_is_between_no_documents_prepares_nothing(prepared: Prepare, tmp_path: Path) -> None:
    paths = [*map(str, written(tmp_path, "\n"))]
    with pytest.raises(DataError, match="%% cuts nothing"):
        prepared(path=paths, document="%%")
