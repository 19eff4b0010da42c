"""What people read: at a glance, with nothing hidden in it, and ready for a shell."""

import os
import subprocess

import pytest

from seqkit.foundation.processes import Rank
from seqkit.foundation.wording import (
    command_line,
    visible,
    visible_line,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31m\x00\r\x9b\x7f", r"\x1b[31m\x00\r\x9b\x7f"),
        ("a\u202eb\u200b\u200f\ufeff", r"a\u202eb\u200b\u200f\ufeff"),
        ("a\u2028b\u2029\ue000\ud800", r"a\u2028b\u2029\ue000\ud800"),
        ("caf\udce9/ü\x85", r"caf\xe9/ü\x85"),
        ("\u0645\u06cc\u200c\u062e \u200d né שלום", "\u0645\u06cc\u200c\u062e \u200d né שלום"),
        ("\u3000\u00a0é☃\U0001f600", "\u3000\u00a0é☃\U0001f600"),
    ],
)
def test_what_has_no_shape_of_its_own_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible_line(text) == shown.replace("\t", r"\t").replace("\n", r"\n")


@pytest.mark.parametrize(
    "word",
    [
        *("a b", "it's", '"', "$(x) `y` ${z} !!", "~/x", "a\\", "ü☃", "*?[]{}", "a;b&c|d"),
        *("'\n\\", "\x1b[31m", "caf\udce9", "\u202e\u200b", "\r\t\x7f"),
    ],
)
def test_a_shell_reads_what_was_meant(word: str) -> None:
    line = command_line(f"run_dir={word}")
    assert line.isprintable()
    script = line.replace("python -m seqkit", "printf %s", 1)
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout == os.fsencode(f"run_dir={word}")


def test_several_processes_are_started_by_torchrun() -> None:
    two = command_line("resume=auto", rank=Rank(1, 2, 1, 2))
    assert two == "torchrun --standalone --nproc-per-node=2 -m seqkit resume=auto"
    for local_size in (4, 5):
        eight = command_line("resume=auto", rank=Rank(5, 8, 1, local_size))
        assert eight == "on each machine, torchrun … -m seqkit resume=auto"
