"""Symbols in files are those that were written, or an error, whatever happens to the files."""

import contextlib
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqkit.data import symbol_files
from seqkit.data.symbol_files import StoredFile, StoredSymbols, digests
from seqkit.foundation.errors import DataError
from tests.data.conftest import VALUES


def row(files: list[StoredFile]) -> StoredSymbols:
    return StoredSymbols.of(files, 300, "start again")


PLACES = {
    "a stretch": np.arange(690, 720),
    "lanes": np.arange(40)[:, None] + np.arange(0, 5000, 700),
    "a ring": (np.arange(40)[:, None] + np.array([4980, 100])) % 5000,
    "documents": np.array([3, 4, 4, 5, 6, 6, 7]),
    "anywhere": np.random.default_rng(1).integers(0, 5000, (17, 9)),
    "backwards": np.arange(4999, -1, -1),
    "nowhere": np.zeros((0, 4), np.int64),
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("most_open", [1, 256])
def test_places_and_slices_are_what_was_written(
    name: str, most_open: int, written: list[StoredFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbol_files, "_most_open", lambda: most_open)
    symbols, places = row(written), PLACES[name]
    assert np.array_equal(symbols[places], VALUES[places])
    assert np.array_equal(symbols.cut(1000, 5000)[places % 4000], VALUES[1000:][places % 4000])
    assert np.array_equal(symbols[650:4100], VALUES[650:4100])


def test_stretches_that_follow_each_other_are_read_at_once(
    written: list[StoredFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    begins, ends = np.array([0, 10, 20, 900, 40, 50]), np.array([10, 20, 25, 900, 50, 2900])
    symbols, reads = row(written).cut(100, 4000), list[int]()
    wanted = [VALUES[100:4000][i:j] for i, j in zip(begins, ends, strict=True)]
    assert np.array_equal(symbols.stretches(begins, ends), np.concatenate(wanted))
    read_into = symbol_files._Handle.read_into

    def counted(self: Any, content: memoryview, begin: int) -> int:
        reads.append(begin)
        return read_into(self, content, begin)

    monkeypatch.setattr(symbol_files._Handle, "read_into", counted)
    places = np.arange(100, 201)  # all of them checked by now
    assert np.array_equal(symbols.stretches(places[:-1], places[1:]), VALUES[200:300])
    assert len(reads) == 1
    assert not len(symbols.stretches(places[:0], places[:0]))


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (np.array([7, 8]), "a place is not among the 8 symbols"),
        (np.array([[-1], [3]]), "a place is not among the 8 symbols"),
        (3, "by a slice or an array of int64"),
        (np.array([True] * 8), "by a slice or an array of int64"),
        (slice(0, 8, 2), "by a slice or an array of int64"),
    ],
)
def test_what_is_not_among_the_symbols_is_not_read(
    index: Any, said: str, written: list[StoredFile]
) -> None:
    with pytest.raises(IndexError, match=said):
        row(written).cut(0, 8)[index]


@pytest.mark.parametrize("read", [np.array, np.asarray, lambda symbols: symbols[:]])
def test_what_is_read_may_be_written_to(read: Any, written: list[StoredFile]) -> None:
    symbols = row(written)
    found = read(symbols)
    found += 1
    assert np.array_equal(symbols, VALUES)
    assert np.asarray(symbols, np.int64).dtype == np.int64


def test_what_the_system_gives_in_parts_is_put_together(
    written: list[StoredFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = os.preadv
    monkeypatch.setattr(os, "preadv", lambda file, into, at: read(file, [into[0][:7]], at))
    assert np.array_equal(row(written)[:], VALUES)


def changed(path: Path, content: bytes) -> None:
    """Write into a file as it lies, at another time than before."""
    before = path.stat().st_mtime_ns
    with path.open("r+b") as stream:
        stream.write(content)
        stream.truncate()
    while path.stat().st_mtime_ns == before:
        os.utime(path)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda whole: b"", "0 bytes in place of the 2,400 that were written: start again"),
        (lambda whole: whole[:-1], "2,399 bytes in place of the 2,400"),
        (lambda whole: whole + b"x", "2,401 bytes in place of the 2,400"),
        (lambda whole: bytes(len(whole)), "altered: its bytes from 0 on"),
        (lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]), "altered: its bytes from 2368 on"),
    ],
)
def test_a_file_that_changes_after_it_was_checked_is_an_error(
    damage: Callable[[bytes], bytes], said: str, written: list[StoredFile]
) -> None:
    symbols, path = row(written), written[2].path
    symbols.check(lambda size: None)
    assert np.array_equal(symbols[:], VALUES)
    changed(path, damage(path.read_bytes()))
    for read in (slice(None), np.arange(700, 1900)):
        with pytest.raises(DataError, match=rf"{path.name}: {said}"):
            symbols[read]
    assert np.array_equal(symbols[:700], VALUES[:700])  # of another file


def test_a_file_that_is_cut_short_while_it_is_read_is_told_as_one_that_was_before(
    written: list[StoredFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    symbols, path, read = row(written), written[2].path, os.preadv

    def cut(file: int, into: list[memoryview], at: int) -> int:
        os.truncate(path, 7)
        return read(file, into, at)

    monkeypatch.setattr(os, "preadv", cut)
    with pytest.raises(DataError, match=rf"{path.name}: 7 bytes in place of the 2,400 that were"):
        symbols[800:900]


@pytest.mark.parametrize("other", ["touched", "replaced", "deleted"])
def test_a_file_whose_content_is_the_same_may_change(other: str, written: list[StoredFile]) -> None:
    symbols, path = row(written), written[2].path
    assert np.array_equal(symbols[:], VALUES)
    if other == "touched":
        changed(path, path.read_bytes())
    elif other == "replaced":
        new = path.with_suffix(".new")
        new.write_bytes(bytes(path.stat().st_size))
        new.replace(path)
    else:
        path.unlink()
    assert np.array_equal(symbols[:], VALUES)


def test_a_file_of_other_symbols_is_refused(written: list[StoredFile]) -> None:
    small = StoredSymbols.of(written, 299, "start again")
    with pytest.raises(DataError, match="it has a symbol outside the codec's 299"):
        small.check(lambda size: None)


def test_a_file_that_is_rewritten_with_its_time_put_back_is_found(
    written: list[StoredFile],
) -> None:
    symbols, path = row(written), written[2].path
    assert np.array_equal(symbols[:], VALUES)
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        with path.open("r+b") as stream:
            stream.write(b"\0" * before.st_size)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    with pytest.raises(DataError, match=rf"{path.name}: altered: its bytes from 0 on"):
        symbols[:]


@pytest.fixture
def opened() -> Iterator[list[int]]:
    """Files that leave room for none more; whoever needs room closes some of them."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limits[0], 200), limits[1]))
    numbers: list[int] = []
    with contextlib.suppress(OSError):
        while True:
            numbers.append(os.open(os.devnull, os.O_RDONLY))
    yield numbers
    for number in numbers:
        os.close(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def many(folder: Path) -> list[StoredFile]:
    """A hundred files of 50 symbols each."""
    made = []
    for number, part in enumerate(np.split(VALUES, 100)):
        path = folder / f"{number}.bin"
        part.tofile(path)
        made.append(StoredFile(path, len(part), digests(path)[1]))
    return made


@pytest.mark.parametrize("room", [5, 40])
def test_one_read_takes_from_more_files_than_may_be_open(
    room: int, tmp_path: Path, opened: list[int]
) -> None:
    for _ in range(room):
        os.close(opened.pop())
    symbols, places = row(many(tmp_path)), np.arange(0, 5000, 50)
    assert np.array_equal(symbols[places], VALUES[places])
    assert np.array_equal(symbols[:], VALUES)


def test_files_that_no_limit_lets_open_are_told_with_what_to_do(
    tmp_path: Path, opened: list[int]
) -> None:
    for _ in range(40):  # threads of other tests may hold some
        os.close(opened.pop())
    symbols = row(many(tmp_path))
    with contextlib.suppress(OSError):
        while True:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    with pytest.raises(DataError, match=r"too many open files: allow more open .*ulimit -n"):
        symbols[:3]
