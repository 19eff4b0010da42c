"""Processes as torchrun starts them, started by hand: each with words of its own."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import TINY, spawn
from tests.warm_python import python


def by_hand(
    folder: Path,
    port: int,
    *words: tuple[str, ...],
    command: tuple[str, ...] = TINY,
) -> list[tuple[int, str, str]]:
    """What `begun_by_hand` comes to: exit code, stdout and stderr of each process."""
    with begun_by_hand(folder, port, *words, command=command) as started:
        return outcomes(started)


@contextlib.contextmanager
def begun_by_hand(
    folder: Path,
    port: int,
    *words: tuple[str, ...],
    command: tuple[str, ...] = TINY,
) -> "Iterator[list[subprocess.Popen[str]]]":
    """Start a process for each of `words` without a launcher; none outlives the block."""
    size = str(max(len(words), 2))
    with contextlib.ExitStack() as ends:
        started = []
        for rank, own in enumerate(words):
            place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": size}
            place |= {"LOCAL_WORLD_SIZE": size, "MASTER_ADDR": "localhost"}
            place |= {"MASTER_PORT": str(port)}
            process = spawn(
                [python(), "-m", "seqkit", *command, *own],
                cwd=folder,
                variables=place,
            )
            ends.enter_context(process)  # waits for it
            ends.callback(process.kill)  # before
            started.append(process)
        yield started


def outcomes(started: "list[subprocess.Popen[str]]") -> list[tuple[int, str, str]]:
    """Wait for processes: exit code, stdout and stderr of each."""
    said = [one.communicate(timeout=600) for one in started]
    return [(one.returncode, *text) for one, text in zip(started, said, strict=True)]
