"""Small data, and where data sets look."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from seqkit.config import DataConfig
from seqkit.data.codecs import Codec
from seqkit.data.corpus import Corpus
from seqkit.data.datasets import Folders
from seqkit.data.load import Known, load_corpus
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.ranks import Session
from tests.data.stores import Site, site

WORDS = "sing a song of sixpence\n"


def load(
    path: Path | list[Path],
    given: Codec | None = None,
    told: list[str] | None = None,
    plugins: tuple[str, ...] = (),
    **settings: Any,
) -> Corpus:
    """The data at a path, as a training or an evaluation of a codec reads them."""
    paths = path if isinstance(path, list) else [path]
    data = DataConfig(path=[*map(str, paths)], **settings)
    session = Session(Catalogue(plugins), ([] if told is None else told).append)
    return load_corpus(data, session, Known(given))


@pytest.fixture
def notices() -> list[str]:
    """What `folders` was told."""
    return []


@pytest.fixture
def folders(tmp_path: Path, notices: list[str], monkeypatch: pytest.MonkeyPatch) -> Folders:
    """An empty folder of the user's and an empty cache."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("SEQKIT_DATA_DIR", str(tmp_path / "data"))
    return Folders(tmp_path / "cache", notices.append)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def served() -> Iterator[Site]:
    """A site with one file, /novel.txt."""
    with site() as about:
        yield about


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A file of text."""
    (tmp_path / "song.txt").write_text(WORDS * 5)
    return tmp_path / "song.txt"


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    """A folder of three recordings."""
    folder = tmp_path / "clips"
    folder.mkdir()
    for seed in range(3):
        wave = np.random.default_rng(seed).uniform(-0.5, 0.5, 900).astype(np.float32)
        soundfile.write(folder / f"{seed}.wav", wave, 4000, "FLOAT")
    return folder
