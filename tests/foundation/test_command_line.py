"""A command line that is told can be copied into a shell."""

import os
import subprocess

import pytest

from seqkit.foundation.command_line import command_line
from seqkit.foundation.processes import Place


@pytest.mark.parametrize(
    "word",
    [
        *(
            "a",
            "a b",
            "it's",
            '"',
            "$(x) `y` ${z} !!",
            "~/x",
            "-x",
            "a\\",
            "ü☃",
            "*?[]{}",
            "a;b&c|d",
        ),
        *("a\nb", "'\n\\", "\x1b[31m", "caf\udce9", "\u202e\u200b", "\r\t\x7f"),
    ],
)
def test_a_shell_reads_what_was_meant(word: str) -> None:
    line = command_line(f"run_dir={word}")
    assert line.isprintable()
    script = line.replace("python -m seqkit", "printf %s", 1)
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout == os.fsencode(f"run_dir={word}")


def test_plain_words_stay_plain() -> None:
    line = command_line("generate", "checkpoint=runs/a", "plugins=a,b")
    assert line == "python -m seqkit generate checkpoint=runs/a plugins=a,b"


def test_several_processes_are_started_by_torchrun() -> None:
    two = command_line("resume=auto", place=Place(1, 2, 1, 2))
    assert two == "torchrun --standalone --nproc-per-node=2 -m seqkit resume=auto"
    for local_size in (4, 5):
        eight = command_line("resume=auto", place=Place(5, 8, 1, local_size))
        assert eight == "on each machine, torchrun … -m seqkit resume=auto"
