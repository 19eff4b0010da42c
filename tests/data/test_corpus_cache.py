"""What the cache has of a text is used only as it was written."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqkit.config import DataConfig
from seqkit.data import files, text_encoder
from seqkit.data.corpus import Corpus
from seqkit.data.files import BadFileError
from seqkit.data.load import load_corpus
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session

Damage = Callable[[bytes], bytes]


def flipped(content: bytes) -> bytes:
    """Other symbols, some of which no vocabulary has."""
    return bytes(np.frombuffer(content, np.uint8) ^ 64)


def read(text: Path) -> Corpus:
    data = DataConfig(path=[str(text)])
    return load_corpus(data, Session(Catalogue(), lambda text: None))


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [("0*.bin", flipped), ("0*.bin", lambda content: b""), ("starts.int64", flipped)],
)
def test_a_damaged_copy_is_told_and_made_again(
    suffix: str, damage: Damage, text: Path, cache: Path
) -> None:
    whole = read(text)
    symbols = whole.whole.symbols[:]
    (copy,) = (cache / "corpora").glob(f"*/{suffix}")
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
        assert np.array_equal(found.whole.symbols, symbols)
        assert np.array_equal(found.whole.starts, whole.whole.starts)


def test_a_damaged_memory_is_made_again(text: Path, cache: Path) -> None:
    whole = read(text)
    (memory,) = (cache / "corpora").glob("*.json")
    content = memory.read_bytes()
    memory.write_bytes(content.replace(b"[10, 32,", b"[10, 33,"))
    assert memory.read_bytes() != content
    assert read(text).codec.to_spec() == whole.codec.to_spec()
    assert memory.read_bytes() == content


def test_what_was_not_used_for_long_goes(text: Path, cache: Path, tmp_path: Path) -> None:
    read(text)
    for path in (cache / "corpora").iterdir():
        os.utime(path, (0, 0))
    text.write_text("another text\n")
    read(text)
    assert len([*(cache / "corpora").iterdir()]) == 2


@pytest.mark.parametrize("kind", ["bytes", "text"])
def test_what_fails_midway_leaves_no_symbols(
    kind: str, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.txt").write_text(name * 10)
    blocks, calls = files.blocks, list[Path]()

    def failing(file: Path, *arguments: Any) -> Iterator[bytes]:
        for block in blocks(file, *arguments):
            yield block
            calls.append(file)
            if file.name == "b.txt" and calls.count(file) > 1:  # after the first pass
                raise BadFileError(file, "cannot be read: input/output error")

    monkeypatch.setattr(text_encoder, "blocks", failing)
    data = DataConfig(path=[str(folder)], kind=kind, on_bad_file="skip")
    corpus = load_corpus(data, Session(Catalogue(), lambda text: None))
    assert corpus.codec.decode(corpus.whole.symbols) in (b"a" * 10 + b"c" * 10, "a" * 10 + "c" * 10)
    assert (corpus.whole.starts.tolist(), corpus.unreadable_files) == ([0, 10], 1)
