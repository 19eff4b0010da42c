"""Small shards of small files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from seqkit.config import DataConfig
from seqkit.data.load import load_corpus
from seqkit.data.shards import plan
from seqkit.data.shards.index import Index
from seqkit.data.shards.prepare import prepare
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session
from tests.conftest import SENTENCE

Prepare = Callable[..., Index]
Small = Callable[[int], None]


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """A folder of texts with characters of one to four bytes."""
    folder = tmp_path / "letters"
    folder.mkdir()
    for number, text in enumerate(("né à Zürich\r\n", "x\r", "“𝄞” ", SENTENCE, "a")):
        (folder / f"{number}.txt").write_text(text * 9, newline="")
    return folder


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Small:
    """Let shards be made of so many bytes."""
    return lambda size: monkeypatch.setattr(plan, "SHARD", size)


@pytest.fixture
def prepared(tmp_path: Path) -> Prepare:
    """Prepare data with these keys, in `tmp_path/shards`."""

    def call(overwrite: bool = False, **keys: object) -> Index:
        return prepare(
            DataConfig(**keys),  # type: ignore[arg-type]
            tmp_path / "shards",
            catalogue=Catalogue(),
            notice=lambda text: None,
            overwrite=overwrite,
        )

    return call


def read(folder: Path, index: Index) -> bytes:
    """All symbols, as they lie in the files."""
    return b"".join((folder / shard.file).read_bytes() for shard in index.shards)


def starts_in(folder: Path) -> list[int]:
    """Where documents start, as the file says that lies beside the shards."""
    return np.fromfile(folder / "starts.int64", "<i8").tolist()  # type: ignore[no-any-return]


def encoded(**keys: object) -> tuple[bytes, list[int], object]:
    """What reading the same data without shards gives: symbols, starts of documents, codec."""
    config = DataConfig(**keys)  # type: ignore[arg-type]
    corpus = load_corpus(config, Session(Catalogue(), lambda text: None))
    return corpus.whole.symbols[:].tobytes(), corpus.whole.starts.tolist(), corpus.codec.to_spec()
