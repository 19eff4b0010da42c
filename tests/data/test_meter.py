"""How far data was read is shown by bytes, in every pass."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.config import DataConfig
from seqkit.data.load import load_corpus
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Bar
from seqkit.foundation.session import Session

TEXT_PASSES = ["finding the characters", "hashing", "encoding"]
SOUND_PASSES = ["measuring the level", "hashing", "encoding"]


class Watched(Bar):
    """Keeps, of every bar, its title, its total, and where it stood at last."""

    def __init__(self) -> None:
        super().__init__("")
        self.bars: list[tuple[str, int, int]] = []

    @contextlib.contextmanager
    def progress(
        self, title: str, total: int = 0, completed: int = 0, unit: str = ""
    ) -> Iterator[Bar]:
        assert unit == "B"
        self.bars.append((title, total, completed))
        yield self

    def update(self, completed: int, *readings: str, total: int | None = None) -> None:
        title, size, _ = self.bars[-1]
        self.bars[-1] = (title, size, completed)


def test_text_is_shown_to_its_last_byte(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("déjà vu " * 700_000, encoding="utf-8")
    size = 2 * (tmp_path / "a.txt").stat().st_size
    watched = Watched()
    data = DataConfig(kind="text", path=[str(tmp_path)])
    for _ in range(2):
        load_corpus(data, Session(Catalogue(), print, watched.progress))
    *passes, (title, size_of_copy, read) = watched.bars
    assert passes == [(title, size, size) for title in TEXT_PASSES]
    assert title == "checking the cache" and size_of_copy == read > 11_000_000


@pytest.mark.parametrize("name", ["a.wav", "a.flac"])
def test_sound_is_shown_to_its_last_byte(name: str, tmp_path: Path) -> None:
    wave = np.random.default_rng(3).uniform(-0.5, 0.5, 30_011)
    soundfile.write(tmp_path / name, wave, 8000)
    size = (tmp_path / name).stat().st_size
    watched = Watched()
    data = DataConfig(path=[str(tmp_path / name)], gain="peak")
    load_corpus(data, Session(Catalogue(), print, watched.progress))
    assert watched.bars == [(title, size, size) for title in SOUND_PASSES]
