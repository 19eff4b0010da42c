"""What the cache has of a text is used only as it was written."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from seqkit.config import DataConfig
from seqkit.data import file_hashes
from seqkit.data.corpus import Corpus
from seqkit.data.load import load_corpus
from seqkit.foundation.plugins import Catalogue

Damage = Callable[[bytes], bytes]


def flipped(content: bytes) -> bytes:
    """Other symbols, some of which no vocabulary has."""
    return bytes(np.frombuffer(content, np.uint8) ^ 64)


def fewer_places(content: bytes) -> bytes:
    return content.replace(b'"starts": [0', b'"starts": [1')


@pytest.fixture(autouse=True)
def _settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes of files that changed just now are remembered, too."""
    monkeypatch.setattr(file_hashes, "_SETTLED", -1.0)


def read(text: Path) -> Corpus:
    data = DataConfig(path=[str(text)])
    return load_corpus(data, catalogue=Catalogue(), notice=lambda text: None)


@pytest.mark.parametrize(
    ("suffix", "damage"), [("bin", flipped), ("bin", lambda content: b""), ("json", fewer_places)]
)
def test_a_damaged_copy_is_told_and_made_again(
    suffix: str, damage: Damage, text: Path, cache: Path
) -> None:
    whole = read(text)
    (copy,) = (cache / "corpora").glob(f"*.{suffix}")
    content = copy.read_bytes()
    copy.write_bytes(damage(content))
    assert copy.read_bytes() != content
    again, later = read(text), read(text)
    assert again.notes == (
        f"the cached copy of {text} was damaged: it was made again",
        *later.notes,
    )
    assert copy.read_bytes() == content
    for found in (again, later):
        assert np.array_equal(found.whole.symbols, whole.whole.symbols)
        assert np.array_equal(found.whole.starts, whole.whole.starts)


@pytest.mark.parametrize(
    ("folder", "other"),
    [
        ("codecs", lambda whole: whole.replace(b"[10, 32,", b"[10, 33,")),
        ("hashes", lambda whole: whole.replace(b'"]}', b'0"]}')),
    ],
)
def test_a_damaged_memory_is_made_again(
    folder: str, other: Damage, text: Path, cache: Path
) -> None:
    whole = read(text)
    (memory,) = (cache / folder).iterdir()
    content = memory.read_bytes()
    memory.write_bytes(other(content))
    assert memory.read_bytes() != content
    again = read(text)
    assert again.sha256 == whole.sha256
    assert again.codec.to_spec() == whole.codec.to_spec()
    assert memory.read_bytes() == content
