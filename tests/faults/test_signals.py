"""A signal in the first seconds of a command, also while it is loaded, ends it in a line."""

import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import SENTENCE, TINY, environment
from tests.faults.conftest import Amount, Tell

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


def test_a_signal_in_the_first_seconds_is_one_line(
    amount: Amount, tell: Tell, chance: random.Random, trained: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(SENTENCE * 40)
    given = f"checkpoint={trained}"
    lines = [
        [*TINY, "data.path=a.txt", "run_dir=run", "train.max_steps=100000", "resume=auto"],
        ["bench", "shape=toy", "device=cpu"],
        ["export", given, "out=a.onnx", "overwrite=true"],
        ["evaluate", given, "data.path=a.txt", "device=cpu"],
        ["compress", given, "data.path=a.txt", "out=a.sq", "overwrite=true", "device=cpu"],
        ["generate", given, "length=10000000", "out=b.txt", "overwrite=true", "device=cpu"],
    ]
    numbers = amount(6, 60)
    for number in numbers:
        words, sent = lines[number % len(lines)], chance.choice(ASKING)
        with subprocess.Popen(
            [sys.executable, "-m", "seqkit", *words], cwd=tmp_path, env=environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as running:  # fmt: skip
            wait_until_heard(running)
            time.sleep(chance.uniform(0, 2.5))
            running.send_signal(sent)
            _, said = running.communicate()
        code = 130 if sent is signal.SIGINT else 75
        assert running.returncode in (code, 0), (words, sent, said)
        assert "Traceback" not in said
        if running.returncode:
            assert said.splitlines()[-1].startswith("seqkit: error: "), said
        assert not list(tmp_path.glob(".*.tmp"))
    tell("signals in the first seconds of six commands", len(numbers))
