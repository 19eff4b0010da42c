"""What the cache has of a text is used only as it was written."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from seqkit.config import DataConfig
from seqkit.data import file_hashes
from seqkit.data.load import load_corpus
from seqkit.plugins import Catalogue
from tests.conftest import TINY, Run

Damage = Callable[[bytes], bytes]


def flipped(content: bytes) -> bytes:
    """Other symbols, some of which no vocabulary has."""
    return bytes(np.frombuffer(content, np.uint8) ^ 64)


def fewer_places(content: bytes) -> bytes:
    return content.replace(b'"starts": [0', b'"starts": [1')


@pytest.mark.parametrize(
    ("suffix", "damage"), [("bin", flipped), ("bin", lambda content: b""), ("json", fewer_places)]
)
def test_a_damaged_copy_is_told_and_made_again(
    suffix: str,
    damage: Damage,
    run: Run,
    text_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path / "cache"))

    def train(name: str) -> tuple[str, list[str]]:
        keys = ["train.max_steps=6", "train.validate_every=3", f"run_dir={tmp_path / name}"]
        made = run(*TINY, f"data.path={text_file}", *keys)
        assert made.code == 0, made.err
        return made.err, [line for line in made.err.splitlines() if ": validation loss" in line]

    _, expected = train("a")
    assert expected
    (copy,) = (tmp_path / "cache" / "corpora").glob(f"*.{suffix}")
    whole = copy.read_bytes()
    copy.write_bytes(damage(whole))
    assert copy.read_bytes() != whole
    told, found = train("b")
    assert "was damaged: it was made again" in told
    assert found == expected
    assert copy.read_bytes() == whole
    told, found = train("c")
    assert "was damaged" not in told
    assert found == expected


@pytest.mark.parametrize(
    ("folder", "other"),
    [
        ("codecs", lambda whole: whole.replace(b"[10, 32,", b"[10, 33,")),
        ("hashes", lambda whole: whole.replace(b'"]}', b'0"]}')),
    ],
)
def test_a_damaged_memory_is_made_again(
    folder: str, other: Damage, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(file_hashes, "_SETTLED", -1.0)  # also of a file that changed just now

    def read() -> tuple[str, object]:
        data = DataConfig(path=[str(text_file)])
        corpus = load_corpus(data, catalogue=Catalogue(), notice=lambda text: None)
        return corpus.sha256, corpus.codec.to_spec()

    expected = read()
    (memory,) = (tmp_path / "cache" / folder).iterdir()
    whole = memory.read_bytes()
    memory.write_bytes(other(whole))
    assert memory.read_bytes() != whole
    assert read() == expected
    assert memory.read_bytes() == whole
