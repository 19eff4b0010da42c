"""What the cache has of a text is used only as it was written, and nothing depends on it."""

import contextlib
import errno
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqkit.config import DataConfig
from seqkit.data import corpus_cache, files, text_encoder
from seqkit.data.corpus import Corpus
from seqkit.data.files import BadFileError
from seqkit.data.load import load_corpus
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session
from tests.conftest import completed, fill_disk
from tests.data.conftest import WORDS
from tests.warm_python import python

KILLED = """
import os, signal, sys
from seqkit.config import DataConfig
from seqkit.data import corpus_cache, load
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session

write = corpus_cache.encode_text
def kill(*arguments):
    write(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
corpus_cache.encode_text = kill
load.load_corpus(DataConfig(path=sys.argv[1:]), Session(Catalogue(), print))
"""
Damage = Callable[[bytes], bytes | None]


def read(text: Path, told: list[str] | None = None) -> Corpus:
    said = [] if told is None else told
    return load_corpus(DataConfig(path=[str(text)]), Session(Catalogue(), said.append))


def copies(cache: Path) -> set[str]:
    return {path.suffix for path in (cache / "corpora").iterdir()}


def test_it_is_mapped_into_memory_and_not_encoded_again(
    text: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read(text)
    monkeypatch.setattr(corpus_cache, "encode", None)
    monkeypatch.setattr(corpus_cache, "choose_codec", None)
    for corpus in (first, read(text)):
        assert isinstance(corpus.whole.symbols.base, np.memmap)
        assert corpus.codec.decode(corpus.whole.symbols) == WORDS * 5
    assert (first.sha256, first.files) == (read(text).sha256, (("song.txt", 1),))


@pytest.mark.parametrize("suffix", ["npy", "npz"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda content: bytes(np.frombuffer(content, np.uint8) ^ 64),
        lambda content: content[:-20],
        lambda content: content[:-1] + b"\x07",
        lambda content: b"",
        lambda content: None,
    ],
)
def test_a_damaged_copy_is_made_again(damage: Damage, suffix: str, text: Path, cache: Path) -> None:
    whole = read(text)
    symbols = whole.whole.symbols.copy()
    for copy in (cache / "corpora").glob(f"*.{suffix}"):
        content = damage(copy.read_bytes())
        copy.unlink()  # what is mapped stays as it is
        if content is not None:
            copy.write_bytes(content)
    for found in (read(text), read(text)):
        assert np.array_equal(found.whole.symbols, symbols)
        assert np.array_equal(found.whole.starts, whole.whole.starts)
        assert (found.codec.to_spec(), found.notes) == (whole.codec.to_spec(), ())
    assert copies(cache) == {".npy", ".npz"}


@pytest.mark.parametrize("fault", ["full", "no folder"])
def test_without_a_cache_the_data_stay_in_memory(
    fault: str, text: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "full":
        fill_disk(monkeypatch, files=".*.npy.*")
    else:
        monkeypatch.setenv("SEQKIT_CACHE_DIR", str(text / "cache"))  # below a file
    told = list[str]()
    corpus = read(text, told)
    (said,) = told
    assert said.startswith("cannot write ") and said.endswith("; the data stay in memory")
    assert corpus.codec.decode(corpus.whole.symbols) == WORDS * 5
    assert corpus.whole.symbols.dtype == np.uint8
    assert not [*tmp_path.rglob("*.npy")]


def test_what_a_killed_process_wrote_is_no_copy(text: Path, cache: Path, tmp_path: Path) -> None:
    done = completed(
        [python(), "-c", KILLED, str(text)], tmp_path, {"SEQKIT_CACHE_DIR": str(cache)}
    )
    assert done.returncode == -signal.SIGKILL
    assert ".tmp" in copies(cache) and ".npy" not in copies(cache)
    for path in (cache / "corpora").glob(".*.tmp"):
        os.utime(path, (0, 0))  # a day later it goes
    corpus = read(text)
    assert corpus.codec.decode(corpus.whole.symbols) == WORDS * 5
    assert copies(cache) == {".npy", ".npz"}


def test_what_is_old_goes(text: Path, cache: Path) -> None:
    read(text)
    before = {*(cache / "corpora").iterdir()}
    (cache / "corpora" / "of_another_version").mkdir()
    for path in (cache / "corpora").iterdir():
        os.utime(path, (0, 0))
    text.write_text("another text\n")
    read(text)
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
            if file.name == "b.txt" and (kind == "bytes" or calls.count(file) > 1):
                raise BadFileError(file, "cannot be read: input/output error")

    monkeypatch.setattr(text_encoder, "blocks", failing)
    data = DataConfig(path=[str(folder)], kind=kind, on_bad_file="skip")
    session = Session(Catalogue(), lambda text: None)
    if kind == "text":  # it could be read when bad files were looked for
        with pytest.raises(BadFileError, match=r"b\.txt: cannot be read: input/output error"):
            load_corpus(data, session)
        assert not [*cache.rglob("*.npy")]
        monkeypatch.undo()
        monkeypatch.setenv("SEQKIT_CACHE_DIR", str(cache))
        (folder / "b.txt").write_bytes(b"bad \xff")
    corpus = load_corpus(data, session)
    assert corpus.codec.decode(corpus.whole.symbols) in (b"a" * 10 + b"c" * 10, "a" * 10 + "c" * 10)
    assert (corpus.whole.starts.tolist(), corpus.unreadable_files) == ([0, 10], 1)
