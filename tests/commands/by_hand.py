"""Processes as torchrun starts them, started by hand: each with words of its own."""

import subprocess
from pathlib import Path

from tests.conftest import TINY, environment
from tests.warm_python import python


def by_hand(
    folder: Path,
    port: int,
    *words: tuple[str, ...],
    command: tuple[str, ...] = TINY,
    last: str = "seqkit",
) -> list[tuple[int, str, str]]:
    """What `begun_by_hand` comes to: exit code, stdout and stderr of each process."""
    return outcomes(begun_by_hand(folder, port, *words, command=command, last=last))


def begun_by_hand(
    folder: Path,
    port: int,
    *words: tuple[str, ...],
    command: tuple[str, ...] = TINY,
    last: str = "seqkit",
) -> "list[subprocess.Popen[str]]":
    """Start a process for each of `words` without a launcher.

    `last` is the module that the last of them runs.
    """
    size = str(max(len(words), 2))
    started = []
    for rank, own in enumerate(words):
        place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": size}
        place |= {"LOCAL_WORLD_SIZE": size, "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
        module = last if rank == len(words) - 1 else "seqkit"
        line = [python(), "-m", module, *command, *own]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(
            subprocess.Popen(
                line,
                env={**environment(), **place},
                cwd=folder,
                text=True,
                **pipes,  # type: ignore[call-overload]
            )
        )
    return started


def outcomes(started: "list[subprocess.Popen[str]]") -> list[tuple[int, str, str]]:
    """Wait for processes: exit code, stdout and stderr of each."""
    said = [one.communicate(timeout=600) for one in started]
    return [(one.returncode, *text) for one, text in zip(started, said, strict=True)]
