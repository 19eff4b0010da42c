"""What is under way is shown on a terminal, in its width, and now and then where there is none."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import TINY, environment
from tests.terminal import on_terminal
from tests.warm_python import python


@pytest.mark.thorough
def test_the_bar_of_a_training_keeps_to_its_row_at_every_width(
    text_file: Path, tmp_path: Path
) -> None:
    words = [*TINY, f"data.path={text_file}", "run_dir=run", "train.max_steps=90000"]
    program = [python(), "-m", "seqkit", *words, "train.validate_every=0"]
    for columns, parts in ((40, ("/90000",)), (120, ("/90000", "loss ", "/s"))):
        with on_terminal(program, columns, tmp_path) as terminal:
            for _ in range(1000):
                assert terminal.read(), terminal.screen.rows
                *notices, last = terminal.screen.rows or [""]
                if all(part in last for part in parts):
                    break
            assert "".join(notices).rstrip().endswith("into run"), terminal.screen.rows
            terminal.program.terminate()
            while terminal.read():
                pass
            assert terminal.program.wait() == 75
        left = "".join(terminal.screen.rows)
        assert "90000" not in left.partition("stopped by SIGTERM")[0].partition("into run")[2]
        program += ["overwrite=true"]


def test_notices_stand_above_the_bar(tmp_path: Path) -> None:
    program = (
        "from seqkit.foundation.console import Console; console = Console()\n"
        "with console.progress('読む\\x1b[31m', 50) as bar, console.progress('title') as other:\n"
        "    for step in range(5):\n"
        "        bar.update(step, '日本語のとても長い名前' * step)\n"
        "        other.update(step)\n"
        "        console.notice(f'{step} ☃')\n"
    )
    with on_terminal([python(), "-c", program], 60, tmp_path) as terminal:
        while terminal.read():
            pass
        rows = [row.strip() for row in terminal.screen.rows]
        assert rows == [f"{step} ☃" for step in range(5)]


def test_without_a_terminal_a_line_comes_every_ten_seconds(tmp_path: Path) -> None:
    program = (
        "import time; from seqkit.foundation.console import Console\n"
        "now = 1.0; time.monotonic = lambda: now\n"
        "with Console().progress('step', 50) as bar, Console().progress('title'):\n"
        "    for step in range(1, 50):\n"
        "        bar.update(step, 'loss 1'); now += 1\n"
    )
    done = subprocess.run(
        [python(), "-c", program], cwd=tmp_path, env=environment(), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    lines = done.stderr.splitlines()
    assert [line.partition("|")[2].split("|")[1].split()[0] for line in lines] == [
        *("11/50", "21/50", "31/50", "41/50")
    ]
    assert all(line.startswith("step:") and "loss 1" in line for line in lines)
    assert "\r" not in done.stderr and "\x1b" not in done.stderr
