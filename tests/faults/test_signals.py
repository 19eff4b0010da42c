"""A signal in the first seconds of a command, also while it is loaded, ends it in a line."""

import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seqkit.commands import COMMANDS
from tests.conftest import spawn
from tests.faults import commands
from tests.faults.conftest import Amount

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux only"),
]
ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


def wait_until_heard(process: "subprocess.Popen[str]") -> None:
    """Wait until seqkit, in its first lines, handles the last of the signals."""
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status.read_text(), re.M)
        if caught and int(caught[1], 16) >> (ASKING[-1] - 1) & 1:
            return
        time.sleep(0.001)


@pytest.mark.thorough
def test_a_signal_in_the_first_seconds_is_one_line(
    amount: Amount, chance: random.Random, trained: Path, tmp_path: Path
) -> None:
    lines = commands.lines(trained, tmp_path)
    alone = COMMANDS.keys() - {"play"}
    assert lines.keys() == alone, "tests/faults/commands.py has a line for every command"
    lines["train"] += ["train.max_steps=100000"]
    lines["generate"] += ["length=10000000"]
    lines["play"] = ["play", "checkpoint=own", "device=cpu", "port=0"]
    numbers = amount(6, 60)
    for number in numbers:
        words = [*lines.values()][number % len(lines)]
        sent = ASKING[number // len(lines) % len(ASKING)]
        with spawn([sys.executable, "-m", "seqkit", *words], cwd=tmp_path) as running:
            wait_until_heard(running)
            time.sleep(chance.uniform(0, 1 if number % 2 else 2.5))
            running.send_signal(sent)
            _, said = running.communicate()
        code = 130 if sent is signal.SIGINT else 75
        assert running.returncode in (code, 0), (words, sent, said)
        assert "Traceback" not in said
        if running.returncode:
            assert said.splitlines()[-1].startswith("seqkit: error: "), said
        assert not list(tmp_path.rglob("*.tmp"))
