"""What happens around a run while it trains: it goes on, or ends in a line."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import (
    SENTENCE,
    TINY,
    Run,
    Tell,
    environment,
    metrics_of,
    saved,
    spawn,
    start,
    summary_of,
    wait_for_steps,
)
from tests.faults.conftest import Amount
from tests.warm_python import python

pytestmark = pytest.mark.faults


@pytest.mark.thorough
def test_a_suspended_training_goes_on(tiny: list[str], tmp_path: Path, tell: Tell) -> None:
    training = spawn([sys.executable, "-m", "seqkit", *tiny, "train.max_steps=100"])
    wait_for_steps(tmp_path / "a", 10)
    training.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    training.send_signal(signal.SIGCONT)
    _, said = training.communicate()
    assert training.returncode == 0, said
    lines = (tmp_path / "a" / "metrics.jsonl").read_text().splitlines()
    seconds = [json.loads(line)["seconds"] for line in lines]
    assert seconds == sorted(seconds)
    tell("suspended trainings", 1)


@pytest.mark.thorough
@pytest.mark.parametrize("change", ["deleted", "shortened", "replaced"])
def test_data_that_change_during_a_training_end_none(
    change: str, text_file: Path, tmp_path: Path, tell: Tell
) -> None:
    training = start(tmp_path / "run", text_file, "train.max_steps=200")
    wait_for_steps(tmp_path / "run", 10)
    if change == "deleted":
        text_file.unlink()
    else:
        text_file.write_text("" if change == "shortened" else "else" * 1000)
    _, said = training.communicate()
    assert training.returncode == 0, said
    tell("data deleted, shortened or replaced in a training", 1)


@pytest.mark.thorough
def test_programs_that_start_at_once_share_a_cache(
    amount: Amount, tell: Tell, tmp_path: Path
) -> None:
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
    tell("programs that share a new cache", len(numbers))


@pytest.mark.thorough
@pytest.mark.parametrize("back", [3600.0, 10 * 365 * 86400.0])
def test_a_clock_that_jumps_back_disturbs_no_training(
    back: float, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run,
    tell: Tell,
) -> None:  # fmt: skip
    usual, begun = time.time, time.monotonic()
    for name in ("a", "b"):
        monkeypatch.setattr(
            time, "time", lambda: usual() - (back if time.monotonic() > begun + 0.3 else 0.0)
        )
        words = [f"data.path={text_file}", f"run_dir={tmp_path / name}", "train.max_steps=60"]
        run.ok(*TINY, *words, "train.validate_every=20", "log.tensorboard=true")
        lines = metrics_of(tmp_path / name)
        seconds = [line["seconds"] for line in lines]
        assert seconds == sorted(seconds)
        assert seconds[0] >= 0
        summary = summary_of(tmp_path / name)
        assert 0 <= summary["train_seconds"] < 600
    tell("clocks that jump back", 1)


def test_runs_of_the_same_second_get_folders_of_their_own(
    text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, tell: Tell
) -> None:
    monkeypatch.setattr(time, "strftime", lambda *_: "2026-11-22_12-00-00")
    for _ in range(3):
        words = [f"data.path={text_file}", f"runs={tmp_path / 'runs'}", "train.max_steps=1"]
        run.ok(*TINY, *words)
    found = sorted(folder.name for folder in (tmp_path / "runs" / "shakespeare").iterdir())
    assert found == [f"2026-11-22_12-00-00{number}" for number in ("", "_2", "_3")]
    tell("runs of the same second", 3)


HANGS_UP = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(2, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "seqkit", *sys.argv[1:]])
"""


@pytest.mark.thorough
def test_a_training_whose_terminal_is_closed_saves_its_state(
    tmp_path: Path, run: Run, tiny: list[str], tell: Tell
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
    tell("trainings whose terminal is closed", 1)


def drain(terminal: int, folder: Path) -> None:
    """Read what a training writes to its terminal until it has made twenty steps."""
    metrics = folder / "metrics.jsonl"
    while not (metrics.exists() and '"step": 20,' in metrics.read_text()):
        os.read(terminal, 1 << 16)
