"""The line fits, at every width and with every text, and tells a time left that comes true."""

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqkit.foundation.console import Bar
from seqkit.foundation.wording import columns_of
from tests.conftest import TINY, environment
from tests.terminal import on_terminal
from tests.warm_python import python


class Clock:
    """Time that passes when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


READINGS = ["loss 1.234", "21,500 symbols/s", "1.78 bits/symbol", "gradient 0.43"]


def training(monkeypatch: pytest.MonkeyPatch, total: int, done: int, second: float) -> Bar:
    """A line that stands at `done` of `total` steps, each of which took so many seconds."""
    clock, line = Clock(monkeypatch), Bar("step", total)
    for step in (1, done):
        clock.now = 1000 + step * second
        line.update(step, *READINGS)
    return line


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (5, "1234/"),
        (14, "step 1234/2500"),
        (39, "step 1234/2500  loss 1.234"),
        (59, "step 1234/2500  loss 1.234  21,500 symbols/s  2:07 left"),
        (79, "[#########...........] step 1234/2500  loss 1.234  21,500 symbols/s  2:07 left"),
        (
            119,
            "[#########...........] step 1234/2500  loss 1.234  21,500 symbols/s  2:07 left  "
            "1.78 bits/symbol  gradient 0.43",
        ),
    ],
)
def test_what_matters_most_stays_where_there_is_little_room(
    columns: int, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert training(monkeypatch, 2500, 1234, 0.1).fitted(columns) == shown


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=4), st.integers(0, 130))
def test_any_text_stays_in_its_columns(title: str, texts: list[str], columns: int) -> None:
    line = Bar(title, 300, 7)
    line.update(8, *texts)
    assert columns_of(line.fitted(columns)) <= columns


def test_the_first_estimate_comes_true_though_the_first_step_was_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, line = Clock(monkeypatch), Bar("step", 1000)
    clock.now += 30  # the first step
    for step in (1, *range(10, 40, 10)):
        clock.now += 0.05 * 10
        line.update(step)
    assert line.whole().startswith("step 30/1000")
    assert line.whole().endswith("0:50 left")  # by 29 steps in 1.5 s
    clock.now += 5
    assert line.whole().endswith("0:45 left")


def test_nothing_is_promised_where_the_total_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, line = Clock(monkeypatch), Bar("read", 0, unit="bytes")
    line.update(10)
    clock.now += 2
    line.update(1010)
    assert line.whole() == line.fitted(80) == "read 1010  500 bytes/s"
    line.update(1010, total=2010)
    assert line.whole() == "read 1010/2010  500 bytes/s  0:02 left"


def test_the_bar_of_a_training_keeps_to_its_row_at_every_width(
    text_file: Path, tmp_path: Path
) -> None:
    words = [*TINY, f"data.path={text_file}", "run_dir=run", "train.max_steps=90000"]
    program = [python(), "-m", "seqkit", *words, "train.validate_every=0"]
    seen: dict[int, str] = {}
    with on_terminal(program, 120, tmp_path) as terminal:
        for columns in (120, 40, 80):
            terminal.resize(columns)
            for _ in range(1000):
                assert terminal.read(), terminal.screen.rows
                *notices, last = terminal.screen.rows or [""]
                # Nothing but the notice is above the bar, and the bar has one row.
                alone = "".join(notices).endswith("into run")
                whole = "loss" in last and (columns < 60 or "left" in last)
                if alone and whole and len(last) < columns:
                    break
            else:
                raise AssertionError(terminal.screen.rows)
            seen[columns] = last
        terminal.program.terminate()
        while terminal.read():
            pass
        assert terminal.program.wait() == 75
    left = "".join(terminal.screen.rows)
    assert "/90" not in left.replace(" ", "").partition("intorun")[2]
    assert "stopped by SIGTERM" in left
    for columns in (80, 120):
        assert all(part in seen[columns] for part in ("/90000", "loss ", " symbols/s", " left"))
    assert all(part in seen[40] for part in ("/90000", "loss "))
    assert "[" in seen[80]
    assert "gradient" in seen[120]


def test_wide_characters_and_codes_are_counted_as_they_are_shown(tmp_path: Path) -> None:
    program = (
        "import sys; from seqkit.foundation.console import Console; console = Console()\n"
        "with console.progress('読む\\x1b[31m', 50) as bar:\n"
        "    for step in range(50):\n"
        "        bar.update(step, '日本語のとても長い名前' * (step % 5))\n"
        "        console.notice(f'{step} ☃')\n"
    )
    with on_terminal([python(), "-c", program], 40, tmp_path) as terminal:
        while terminal.read():
            assert all(columns_of(row) <= 40 for row in terminal.screen.rows)
        assert terminal.screen.rows == [f"{step} ☃" for step in range(50)]


def test_without_a_terminal_lines_are_told_now_and_then(tmp_path: Path) -> None:
    program = (
        "from seqkit.foundation.console import Console\n"
        "with Console().progress('step', 50) as bar:\n"
        "    for step in range(50):\n"
        "        bar.update(step, 'loss 1', important=step == 3)\n"
    )
    done = subprocess.run(
        [python(), "-c", program], cwd=tmp_path, env=environment(), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert done.stderr == "step 3/50  loss 1\n"


def test_bytes_are_shown_as_megabytes() -> None:
    line = Bar("encoding", 12_000_000, unit="MB")
    line.update(3_456_789)
    assert line.whole() == "encoding 3.5/12.0"
    assert line.fitted(8) == "3.5/12.0"
