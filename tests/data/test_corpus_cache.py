"""What the cache has of a text is used only as it was written, and nothing depends on it."""

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqkit.config import DataConfig
from seqkit.data import corpus_cache
from seqkit.data.files import BadFileError
from seqkit.data.load import load_corpus
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import OutputError
from seqkit.foundation.ranks import Session
from tests.data.conftest import WORDS, load

Damage = Callable[[bytes], bytes | None]


def copies(cache: Path) -> set[str]:
    return {path.suffix for path in (cache / "corpora").iterdir()}


def test_it_is_mapped_into_memory_and_not_encoded_again(
    text: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(text)
    monkeypatch.setattr(corpus_cache, "encode", None)
    monkeypatch.setattr(corpus_cache, "choose_codec", None)
    for corpus in (first, load(text)):
        assert isinstance(corpus.whole.symbols.base, np.memmap)
        assert corpus.codec.decode(corpus.whole.symbols) == WORDS * 5
    assert (first.sha256, first.files) == (load(text).sha256, (("song.txt", 1),))


@pytest.mark.parametrize("suffix", ["npy", "npz"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-20],
        lambda content: b"",
        lambda content: None,
    ],
)
def test_a_damaged_copy_is_made_again(damage: Damage, suffix: str, text: Path, cache: Path) -> None:
    whole = load(text)
    symbols = whole.whole.symbols.copy()
    for copy in (cache / "corpora").glob(f"*.{suffix}"):
        content = damage(copy.read_bytes())
        copy.unlink()  # what is mapped stays as it is
        if content is not None:
            copy.write_bytes(content)
    for found in (load(text), load(text)):
        assert np.array_equal(found.whole.symbols, symbols)
        assert np.array_equal(found.whole.starts, whole.whole.starts)
        assert (found.codec.to_spec(), found.notes) == (whole.codec.to_spec(), ())
    assert copies(cache) == {".npy", ".npz"}


def test_without_a_cache_a_line_says_what_to_do(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQKIT_CACHE_DIR", str(text / "cache"))  # below a file
    with pytest.raises(
        OutputError, match="name another folder for the cache with SEQKIT_CACHE_DIR"
    ):
        load(text)


def test_what_is_old_goes(text: Path, cache: Path) -> None:
    load(text)
    before = {*(cache / "corpora").iterdir()}
    (cache / "corpora" / "of_another_version").mkdir()
    for path in (cache / "corpora").iterdir():
        os.utime(path, (0, 0))
    text.write_text("another text\n")
    load(text)
    assert not before & {*(cache / "corpora").iterdir()}
    assert copies(cache) == {".npy", ".npz"}


@pytest.mark.parametrize("passing", [False, True])
def test_an_error_of_reading_that_may_pass_is_not_kept(
    passing: bool, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, read = tmp_path / "folder", Path.open
    folder.mkdir()
    for name in "ab":
        (folder / f"{name}.txt").write_text(name * 10)
    if not passing:
        (folder / "b.txt").write_bytes(b"bad \xff")
    data = DataConfig(path=[str(folder)], kind="text", on_bad_file="skip")
    opened, tried = list[str](), Session(Catalogue(), lambda text: None)

    def failing(file: Path, *arguments: Any, **more: Any) -> Any:
        opened.append(file.name)
        if passing and file.name == "b.txt" and opened.count("b.txt") > 1:  # after the first look
            raise OSError(errno.EIO, "Input/output error")
        return read(file, *arguments, **more)

    with monkeypatch.context() as context:
        context.setattr(Path, "open", failing)
        with contextlib.suppress(BadFileError):  # what cannot be read has no digest either
            assert load_corpus(data, tried).unreadable_files == 1
    assert load_corpus(data, tried).unreadable_files == (0 if passing else 1)
