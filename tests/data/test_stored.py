"""Symbols in files are those that were written, or an error, whatever happens to the files."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from seqkit.data import stored
from seqkit.data.stored import StoredFile, StoredSymbols
from seqkit.errors import DataError

VALUES = np.random.default_rng(0).integers(0, 300, 5000).astype(np.uint16)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[StoredFile]:
    """Files of those symbols, of several lengths, which are checked 64 bytes at a time."""
    monkeypatch.setattr(stored, "BLOCK", 64)
    made = []
    for number, part in enumerate(np.split(VALUES, [1, 700, 1900, 1907, 4000])):
        path = tmp_path / f"{number}.bin"
        part.tofile(path)
        made.append(StoredFile(path, len(part), stored.digests(path)))
    return made


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
    name: str, most_open: int, files: list[StoredFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "_MOST_OPEN", most_open)
    symbols, places = row(files), PLACES[name]
    assert np.array_equal(symbols[places], VALUES[places])
    assert np.array_equal(symbols.cut(1000, 5000)[places % 4000], VALUES[1000:][places % 4000])
    assert np.array_equal(symbols[650:4100], VALUES[650:4100])


def test_what_the_system_gives_in_parts_is_put_together(
    files: list[StoredFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = os.pread
    monkeypatch.setattr(os, "pread", lambda file, size, at: read(file, min(size, 7), at))
    assert np.array_equal(row(files)[:], VALUES)


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
    damage: Callable[[bytes], bytes], said: str, files: list[StoredFile]
) -> None:
    symbols, path = row(files), files[2].path
    symbols.check(lambda size: None)
    assert np.array_equal(symbols[:], VALUES)
    changed(path, damage(path.read_bytes()))
    for read in (slice(None), np.arange(700, 1900)):
        with pytest.raises(DataError, match=rf"{path.name}: {said}"):
            symbols[read]
    assert np.array_equal(symbols[:700], VALUES[:700])  # of another file


@pytest.mark.parametrize("other", ["touched", "replaced", "deleted"])
def test_a_file_whose_content_is_the_same_may_change(other: str, files: list[StoredFile]) -> None:
    symbols, path = row(files), files[2].path
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


def test_a_file_that_changes_while_it_is_read_is_read_anew(
    files: list[StoredFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    symbols, path, read = row(files), files[2].path, os.pread
    symbols.check(lambda size: None)
    whole = path.read_bytes()
    left = [2]

    def meddled(file: int, size: int, at: int) -> bytes:
        if left[0] == 2:
            left[0] = 1
            changed(path, bytes(len(whole)))
            found = read(file, size, at)
            changed(path, whole)
            return found
        return read(file, size, at)

    monkeypatch.setattr(os, "pread", meddled)
    assert np.array_equal(symbols[800:900], VALUES[800:900])
    assert left == [1]


def test_a_file_of_other_symbols_is_refused(files: list[StoredFile]) -> None:
    small = StoredSymbols.of(files, 299, "start again")
    with pytest.raises(DataError, match="it has a symbol outside the codec's 299"):
        small.check(lambda size: None)
