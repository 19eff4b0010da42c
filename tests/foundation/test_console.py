"""Notices keep to the columns of a terminal, and what is to be copied stays in one piece."""

import os
import sys
from pathlib import Path

import pytest

from seqkit.foundation.console import Console
from seqkit.foundation.processes import ALONE, Place
from seqkit.foundation.wording import columns_of
from seqkit.runs.events import Stopped, describe
from tests.terminal import set_size

TOLD = "training: 1,115,394 symbols of a text, 65 distinct; 207,630 parameters; into runs/a"
SAMPLE = "    what a model wrote, as long as its lines happen to be"


def shown(notice: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines of a notice on a terminal of so many columns."""
    side, other = os.openpty()
    set_size(side, columns)
    with os.fdopen(other, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        Console().notice(notice)
        lines = os.read(side, 1 << 16).decode().split("\r\n")[:-1]
    os.close(side)
    return lines


def test_notices_are_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(TOLD, 200, monkeypatch) == [TOLD]
    first, *others = shown(f"{TOLD}\n{SAMPLE}", 40, monkeypatch)
    *others, sample = others
    assert sample == SAMPLE  # its lines are its own
    assert all(columns_of(line) <= 40 for line in (first, *others))
    assert all(line.startswith("  ") for line in others)
    assert " ".join([first, *map(str.strip, others)]) == TOLD


def test_wide_characters_count_as_two_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "read " + " ".join(["春眠不覺曉", "處處聞啼鳥"] * 5)
    rows = shown(told, 40, monkeypatch)
    assert 30 < max(map(columns_of, rows)) <= 40
    assert " ".join(map(str.strip, rows)) == told


@pytest.mark.parametrize("place", [ALONE, Place(size=2, local_size=2), Place(size=2)])
def test_a_command_stays_whole(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("a run") / ("with a long name " * 5)
    notice = describe(Stopped(4, "SIGTERM", folder, place=place))
    assert notice is not None
    *told, command = shown(notice, 40, monkeypatch)
    begin = "torchrun" if place.size > 1 else "python"
    assert command.startswith(f"  {begin}")
    assert f" -m seqkit 'run_dir={folder}' resume=auto" in command
    assert " ".join([*map(str.strip, told), command.strip()]) == notice
