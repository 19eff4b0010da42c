"""What people read: at a glance, with nothing hidden in it, and ready for a shell."""

import json
import os
import subprocess

import pytest

from seqkit.foundation.processes import Rank
from seqkit.foundation.wording import (
    byte_count,
    command_line,
    counted,
    duration,
    json_text,
    percent,
    rounded,
    visible,
    visible_line,
)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.2, "0:00"), (62, "1:02"), (3599.6, "1:00:00"), (7325, "2:02:05")]
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (7, "7"), (999, "999"), (999.6, "1k"), (21_543, "21.5k"), (999_900, "1M")],
)
def test_rounded_numbers(number: float, shown: str) -> None:
    assert rounded(number) == shown


def test_a_count_has_the_noun_that_fits() -> None:
    assert [counted(n, "file") for n in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
    assert [counted(n, "minute") for n in (1.0, 1.5, 1e7)] == [
        *("1 minute", "1.5 minutes", "10000000 minutes")
    ]
    assert [counted(n, "copy", "copies") for n in (1, 2)] == ["1 copy", "2 copies"]


def test_less_than_all_is_never_a_hundred_per_cent() -> None:
    shares = (0.00092, 0.128, 0.98, 0.996, 0.99999, 1.0)
    shown = ["0.092 %", "13 %", "98 %", "99 %", "99 %", "100 %"]
    assert [percent(share) for share in shares] == shown


@pytest.mark.parametrize(
    ("count", "shown"), [(600, "0.6 kB"), (51_200, "51 kB"), (3.21e9, "3.2 GB"), (48e12, "48 TB")]
)
def test_sizes(count: float, shown: str) -> None:
    assert byte_count(count) == shown


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
    ("text", "given"),
    [
        ("caf\udce9", r"caf\xe9"),
        ("\ud800 \udc00", r"\ud800 \udc00"),
        ("é☃\U0001f600", "é☃\U0001f600"),
        (r"\ud800 \\udce9", r"\ud800 \\udce9"),  # no surrogates, but backslashes
        ('"\n\x00\udce9', '"\n\x00' + r"\xe9"),
    ],
)
def test_json_has_whole_characters(text: str, given: str) -> None:
    made = json_text({text: [text, 1.5, None]}, indent=2)
    assert made.isascii()
    assert json.loads(made) == {given: [given, 1.5, None]}


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
