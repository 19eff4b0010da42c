"""`python -m seqkit` alone, on a terminal."""

import os
import sys
from pathlib import Path

import pytest

from seqkit.commands import welcome
from tests.terminal import on_terminal


def leave(run: Path, at: float, *, over: bool = True) -> None:
    """A run as a training leaves it, at a time in seconds."""
    (run / "checkpoints").mkdir(parents=True)
    (run / "checkpoints" / "last.safetensors").write_bytes(b'{"__metadata__":{"seqkit":"{}"}}')
    if over:
        (run / "summary.json").write_text("{}")
    os.utime(run / "checkpoints", (at, at))


def test_without_runs_it_tells_of_models_and_commands(tmp_path: Path) -> None:
    text = welcome.screen(tmp_path / "runs")
    for word in ("checkpoint=shakespeare", "checkpoint=etude", "doctor", "recipe=", "--help"):
        assert word in text
    assert "Runs in" not in text
    assert len(text.splitlines()) < 24


@pytest.mark.parametrize("over", [True, False])
def test_the_newest_run_is_gone_on_with(
    over: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("old", "my words/12-00", "b", "c", "d")):
        leave(Path("runs") / name, 1e9 + (9e6 if "/" in name else number), over=over)
    (tmp_path / "runs" / "none" / "checkpoints").mkdir(parents=True)
    text = welcome.screen()
    rows = text.splitlines()
    begin = rows.index("Runs in runs, the newest first:") + 1
    assert rows[begin : begin + 4] == [
        *("  runs/my words/12-00", "  runs/d", "  runs/c", "  … and 2 more"),
    ]
    assert "generate checkpoint='runs/my words/12-00'\n" in text
    assert ("report run_dir='runs/my words/12-00'\n" in text) == over
    assert ("run_dir='runs/my words/12-00' resume=auto\n" in text) != over
    assert len(rows) < 24


def test_a_terminal_shows_it(tmp_path: Path) -> None:
    leave(tmp_path / "runs" / "a", 1e9)
    program = [sys.executable, "-m", "seqkit"]
    with on_terminal(program, 80, tmp_path, whole=True) as terminal:
        while terminal.read():
            pass
        assert terminal.program.wait() == 0
    shown = "\n".join(terminal.screen.rows)
    assert "generate checkpoint=runs/a" in shown
    assert "examples:" not in shown
