"""Decoded sound is kept as long as somebody will take it, and within its room."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from seqkit.data import sound_encoder
from seqkit.data.files import BadFileError
from seqkit.data.sound import Frames
from seqkit.data.sound_encoder import Decoded

BLOCK = np.ones((50, 1), np.float32)
FIRST, SECOND = Path("first.wav"), Path("second.wav")


def blocks(count: int, ends: bool = True) -> Iterator[Frames]:
    yield from [BLOCK] * count
    if not ends:
        raise BadFileError(FIRST, "truncated")


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Decoded:
    """With room for three blocks."""
    monkeypatch.setattr(sound_encoder, "_ROOM", 3 * BLOCK.nbytes)
    return Decoded()


def test_what_fits_is_kept_and_taken_once(decoded: Decoded) -> None:
    for file, count in ((FIRST, 4), (SECOND, 3)):
        assert len([*decoded.keep(file, blocks(count))]) == count
    assert decoded.take(FIRST) is None
    assert len(decoded.take(SECOND) or ()) == 3
    assert decoded.take(SECOND) is None


def test_a_file_that_fails_midway_takes_no_room(decoded: Decoded) -> None:
    with pytest.raises(BadFileError):
        [*decoded.keep(FIRST, blocks(2, ends=False))]
    assert decoded.take(FIRST) is None
    assert len([*decoded.keep(SECOND, blocks(3))]) == len(decoded.take(SECOND) or ()) == 3


def test_other_processes_keep_nothing(decoded: Decoded) -> None:
    assert len([*decoded.keep(FIRST, blocks(1))]) == 1
    there: Decoded = pickle.loads(pickle.dumps(decoded))
    assert len([*there.keep(SECOND, blocks(1))]) == 1
    assert there.take(FIRST) is there.take(SECOND) is None
    assert decoded.take(FIRST) is not None
