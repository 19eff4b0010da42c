"""Stdin and pipes are read once, to their end, and what gives nothing is told in words."""

import os
import pty
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from seqkit.data import pipes
from seqkit.foundation.console import Bar
from seqkit.foundation.errors import DataError
from seqkit.foundation.progress_line import ProgressLine

pytestmark = pytest.mark.faults


def settle(place: str, cache: Path) -> str:
    (path,) = pipes.settled([place], cache, lambda text: None)
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
    monkeypatch.setattr(pipes, "_PATIENCE", 0.2)


@pytest.mark.parametrize("place", ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_stdin_is_read_into_the_cache(place: str, tmp_path: Path) -> None:
    with pipe_with(lambda end: os.write(end, b"some text\n")) as end, stdin_from(end):
        path = settle(place, tmp_path / "cache")
    assert Path(path).read_bytes() == b"some text\n"
    assert Path(path).name == "stdin"
    assert pipes.is_kept(path, tmp_path / "cache")
    assert [*(tmp_path / "cache" / "streams").iterdir()] == [Path(path).parent]


def test_what_the_shell_makes_of_a_command_is_read(tmp_path: Path) -> None:
    with pipe_with(lambda end: os.write(end, b"some text\n")) as end:
        path = settle(f"/dev/fd/{end}", tmp_path / "cache")
    assert (Path(path).name, Path(path).read_bytes()) == ("pipe", b"some text\n")


def test_a_named_pipe_is_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "_BLOCK", 1000)
    os.mkfifo(tmp_path / "novel.txt")
    content = os.urandom(300_000)  # more than a pipe holds
    writer = threading.Thread(target=(tmp_path / "novel.txt").write_bytes, args=[content])
    writer.start()
    path = settle(str(tmp_path / "novel.txt"), tmp_path / "cache")
    writer.join()
    assert (Path(path).name, Path(path).read_bytes()) == ("novel.txt", content)


def test_files_are_left_as_they_are(tmp_path: Path) -> None:
    paths = ["novel.txt", str(tmp_path), "none", "/dev/zero", "a\0b", "./-"]
    assert pipes.settled(paths, tmp_path / "cache", lambda text: None) == paths
    assert not (tmp_path / "cache").exists()


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


@pytest.mark.usefixtures("impatient")
def test_a_pause_in_the_middle_is_none_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipes, "_LOOK_EVERY", 0.1)
    told: list[str] = []
    paused = threading.Event()

    class Shown(Bar):
        """Bytes as they are shown."""

        seen: ClassVar[list[int]] = []

        def update(
            self,
            completed: int,
            *readings: str,
            total: int | None = None,
            important: bool = False,
            timed: bool = True,
        ) -> None:
            self.seen.append(completed)
            if self.seen.count(4) > 1:  # nothing came, and is shown all the same
                paused.set()

    @contextmanager
    def progress(title: str, total: int = 0, completed: int = 0, unit: str = "") -> Iterator[Bar]:
        told.append(f"{title}, in {unit} of {total}")
        yield Shown(ProgressLine(title, total), lambda: None)

    def write(end: int) -> None:
        os.write(end, b"one ")
        paused.wait(60)
        os.write(end, b"two")

    with pipe_with(write) as end, stdin_from(end):
        (path,) = pipes.settled(["-"], tmp_path / "cache", told.append, progress)
    assert Path(path).read_bytes() == b"one two"
    assert told[:2] == ["reading stdin", "reading stdin, in MB of 0"]
    assert told[2:] == [f"stdin: 7 bytes read, and kept as {path}"]
    assert Shown.seen[-1] == 7


def test_what_was_read_long_ago_gives_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(text: str) -> Path:
        with pipe_with(lambda end: os.write(end, text.encode())) as end, stdin_from(end):
            return Path(settle("-", tmp_path / "cache"))

    monkeypatch.setattr(pipes, "_MOST_KEPT", 25)
    first, second = read("a" * 10), read("b" * 10)
    for age, file in ((3, first), (2, second)):
        os.utime(file.parent, (time.time() - 86400 * age,) * 2)
    third, fourth = read("c" * 10), read("d" * 10)
    assert [file.exists() for file in (first, second, third, fourth)] == [False, False, True, True]
    fifth = read("e" * 10)  # none of these is a day old
    assert third.exists()
    assert fifth.exists()
    with pytest.raises(
        DataError, match="stdin: the cache no longer holds what was read from stdin"
    ):
        settle(str(first), tmp_path / "cache")


def test_what_is_no_data_is_said(tmp_path: Path) -> None:
    master, terminal = pty.openpty()
    places = {"/dev/null": "a device", "/dev/zero": "a device", str(tmp_path): "a folder"}
    handles = {os.open(place, os.O_RDONLY): said for place, said in places.items()}
    handles[terminal] = "a terminal: write to it through a pipe"
    for handle, said in handles.items():
        with stdin_from(handle), pytest.raises(DataError, match=f"stdin is {said}"):
            settle("-", tmp_path / "cache")
        os.close(handle)
    os.close(master)
    with pytest.raises(DataError, match="pipe: cannot be read: bad file descriptor"):
        settle("/dev/fd/987", tmp_path / "cache")


def test_a_closed_stdin_is_said(tmp_path: Path) -> None:
    code = "from seqkit.data import pipes; print(next(pipes.blocks('-')))"
    done = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" <&-', sys.executable, code],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "DataError: stdin is closed" in done.stderr
