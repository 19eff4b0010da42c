"""What happens around a run while it trains: it goes on, or ends in a line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import (
    SENTENCE,
    TINY,
    Run,
    environment,
    saved,
    spawn,
    start,
    wait_for_steps,
)
from tests.faults.conftest import Amount
from tests.warm_python import python

pytestmark = pytest.mark.faults


@pytest.mark.thorough
@pytest.mark.parametrize("change", ["deleted", "shortened", "replaced"])
def test_data_that_change_during_a_training_end_none(
    change: str, text_file: Path, tmp_path: Path
) -> None:
    training = start(tmp_path / "run", text_file, "train.max_steps=200")
    wait_for_steps(tmp_path / "run", 10)
    if change == "deleted":
        text_file.unlink()
    else:
        text_file.write_text("" if change == "shortened" else "else" * 1000)
    _, said = training.communicate()
    assert training.returncode == 0, said


@pytest.mark.thorough
def test_programs_that_start_at_once_share_a_cache(amount: Amount, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(SENTENCE * 20_000)
    words = [*TINY, "data.path=a.txt", "train.max_steps=1", "train.validate_every=0"]
    words += ["data.split=[0.99,0.01,0]"]
    numbers = amount(3, 8)
    cache = {"SEQKIT_CACHE_DIR": str(tmp_path / "cache")}
    running = [
        spawn([python(), "-m", "seqkit", *words, f"run_dir={number}"], tmp_path, cache)
        for number in numbers
    ]
    for one in running:
        _, said = one.communicate()
        assert one.returncode == 0, said
        assert "Traceback" not in said
    assert not list((tmp_path / "cache").rglob("*.tmp"))
    assert len({file.read_bytes() for file in (tmp_path / "cache").rglob("*.npy")}) == 1


HANGS_UP = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(2, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "seqkit", *sys.argv[1:]])
"""


@pytest.mark.thorough
def test_a_training_whose_terminal_is_closed_saves_its_state(
    tmp_path: Path, run: Run, tiny: list[str]
) -> None:
    terminal, side = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", HANGS_UP, *tiny, "train.max_steps=1000000"],
        env={**environment(), "TERM": "xterm"}, stdin=side, stdout=side, stderr=side,
    ) as training:  # fmt: skip
        os.close(side)
        drain(terminal, tmp_path / "a")
        os.close(terminal)  # the system sends SIGHUP
        assert training.wait() == 75
    run.ok(f"run_dir={tmp_path / 'a'}", "resume=auto", "train.max_steps=30", "length=5")
    assert saved(tmp_path / "a").training


def drain(terminal: int, folder: Path) -> None:
    """Read what a training writes to its terminal until it has made twenty steps."""
    metrics = folder / "metrics.jsonl"
    while not (metrics.exists() and '"step": 20,' in metrics.read_text()):
        os.read(terminal, 1 << 16)
