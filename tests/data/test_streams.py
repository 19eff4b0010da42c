"""Stdin and pipes are read once, to their end, and what gives nothing is told in words."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seqkit.data import streams
from seqkit.foundation.errors import DataError

pytestmark = pytest.mark.faults


def settle(place: str, cache: Path) -> str:
    (path,) = streams.read_streams([place], cache, lambda text: None)
    return path


@contextmanager
def stdin_from(handle: int) -> Iterator[None]:
    """Let this process read another stdin."""
    before = os.dup(0)
    os.dup2(handle, 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


@contextmanager
def pipe_with(write: Callable[[int], object]) -> Iterator[int]:
    """The end of a pipe to read, into which another thread writes."""
    reading, writing = os.pipe()

    def run() -> None:
        write(writing)
        os.close(writing)

    writer = threading.Thread(target=run)
    writer.start()
    try:
        yield reading
    finally:
        os.close(reading)
        writer.join()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_TIMEOUT", 0.2)


@pytest.mark.parametrize("place", ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_stdin_is_read_into_the_cache(place: str, tmp_path: Path) -> None:
    with pipe_with(lambda end: os.write(end, b"some text\n")) as end, stdin_from(end):
        path = settle(place, tmp_path / "cache")
    assert Path(path).read_bytes() == b"some text\n"
    assert Path(path).name == "stdin"
    assert [*(tmp_path / "cache" / "streams").iterdir()] == [Path(path).parent]


def test_what_the_shell_makes_of_a_command_is_read(tmp_path: Path) -> None:
    with pipe_with(lambda end: os.write(end, b"some text\n")) as end:
        path = settle(f"/dev/fd/{end}", tmp_path / "cache")
    assert (Path(path).name, Path(path).read_bytes()) == ("pipe", b"some text\n")


def test_a_named_pipe_is_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_BLOCK", 1000)
    os.mkfifo(tmp_path / "novel.txt")
    content = os.urandom(300_000)  # more than a pipe holds
    writer = threading.Thread(target=(tmp_path / "novel.txt").write_bytes, args=[content])
    writer.start()
    path = settle(str(tmp_path / "novel.txt"), tmp_path / "cache")
    writer.join()
    assert (Path(path).name, Path(path).read_bytes()) == ("novel.txt", content)


@pytest.mark.usefixtures("impatient")
def test_nothing_is_waited_for_without_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match=r"pipe: nothing came in 0\.2 s"):  # nobody writes
        settle(str(tmp_path / "pipe"), tmp_path / "cache")
    reading, writing = os.pipe()  # somebody might write, and does not
    with stdin_from(reading), pytest.raises(DataError, match=r"stdin: nothing came in 0\.2 s"):
        settle("-", tmp_path / "cache")
    os.close(writing)
    with stdin_from(reading), pytest.raises(DataError, match="stdin: empty"):
        settle("-", tmp_path / "cache")
    os.close(reading)
    assert not [*(tmp_path / "cache" / "streams").iterdir()]


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_data(device: str, tmp_path: Path) -> None:
    handle = os.open(device, os.O_RDONLY)
    with stdin_from(handle), pytest.raises(DataError, match="stdin is a terminal or a device"):
        settle("-", tmp_path / "cache")
    os.close(handle)
