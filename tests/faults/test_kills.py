"""Killed at any moment, also in the middle of a save, a training ends as if it never had been."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import safetensors
import soundfile
import torch

from tests.conftest import SENTENCE, SMALL, spawn, wait_for_steps
from tests.faults import commands
from tests.faults.conftest import Amount
from tests.warm_python import python

pytestmark = pytest.mark.faults
RUN = (
    *("train.max_steps=60", "train.checkpoint_every=7", "train.validate_every=20"),
    *("train.average=0.9", "train.deterministic=true", "resume=auto", "seconds=0.01"),
)
# The process kills itself at one of the calls that write: before, within or after a save.
KILLED = """
import os, signal, sys
from seqkit.foundation import disk
from seqkit.cli import main
left = int(sys.argv.pop(1))
def counted(call):
    def wrapper(*given):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*given)
    return wrapper
calls = (disk.OutputFile, "write"), (disk, "rename append"), (os, "fsync")
for place, names in calls:
    for name in names.split():
        setattr(place, name, counted(getattr(place, name)))
code = main(sys.argv[1:])
print(left, file=sys.stderr)
sys.exit(code)
"""
LEAST = 10**6  # more calls than a run makes


def words(kind: str, folder: Path, run: str) -> list[str]:
    """The command line of a training on text or sound, which are made if need be."""
    if kind == "text":
        data, recipe = folder / "a.txt", "shakespeare"
        data.write_text(SENTENCE * 40)
        sizes = list(SMALL)
    else:
        data, recipe = folder / "a.wav", "wav_generation"
        wave = 0.4 * np.sin(np.arange(4000) * 0.3)
        soundfile.write(data, wave, 4000)
        sizes = [*(key for key in SMALL if not key.startswith("length=")), "data.sample_rate=4000"]
    steps = [key for key in RUN if kind == "sound" or not key.startswith("seconds=")]
    return [f"recipe={recipe}", *sizes, *steps, f"data.path={data}", f"run_dir={folder / run}"]


def start(
    given: list[str], killed_at: int = LEAST, cwd: Path | None = None
) -> "subprocess.Popen[str]":
    """A program that kills itself at one of its calls to the disk."""
    return spawn([python(), "-c", KILLED, str(killed_at), *given], cwd=cwd)


def finish(given: list[str], cwd: Path | None = None) -> int:
    """Run to the end; how many calls to the disk that took."""
    running = start(given, cwd=cwd)
    _, said = running.communicate()
    assert running.returncode == 0, said
    assert "Traceback" not in said
    return LEAST - int(said.splitlines()[-1])


def state(run: Path) -> tuple[dict[str, object], dict[str, torch.Tensor]]:
    """All that the last checkpoint holds of a training, but for times and places."""
    file = run / "checkpoints" / "last.safetensors"
    with safetensors.safe_open(file, framework="pt") as opened:
        header = json.loads(opened.metadata()["seqkit"])
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    progress = header["training"]["progress"]
    return {key: value for key, value in progress.items() if "seconds" not in key}, tensors


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("kind", ["text", "sound"])
def test_a_killed_training_ends_as_if_it_never_had_been(
    kind: str, amount: Amount, chance: random.Random, tmp_path: Path
) -> None:
    calls = finish(words(kind, tmp_path, "straight"))
    expected, tensors = state(tmp_path / "straight")
    few, every = (3, 25) if kind == "text" else (2, 25)
    numbers = amount(few, every)
    for number in numbers:
        name = f"run_{number}"
        given = words(kind, tmp_path, name)
        if number % 2:
            killed = start(given)
            wait_for_steps(tmp_path / name, 1)
            time.sleep(chance.uniform(0, 0.4))
            os.kill(killed.pid, signal.SIGKILL)
        else:
            killed = start(given, chance.randrange(calls))
        _, said = killed.communicate()
        assert killed.returncode in (-signal.SIGKILL, 0), said
        for half in (tmp_path / name).rglob("*.half.tmp"):
            if half.parent.name != "checkpoints":  # where another program may write
                os.utime(half, (0, 0))  # a day later it goes
        finish(given)
        found, values = state(tmp_path / name)
        assert found == expected
        assert values.keys() == tensors.keys()
        assert all(torch.equal(values[key], own) for key, own in tensors.items())
        assert not list((tmp_path / name).rglob("*.tmp"))


@pytest.mark.thorough
def test_a_killed_command_leaves_nothing_that_one_a_day_later_does_not_clear(
    amount: Amount, chance: random.Random, trained: Path, tmp_path: Path
) -> None:
    lines = commands.lines(trained, tmp_path)
    names = [name for name in lines if name not in ("train", "inspect")]
    numbers = amount(3, 27)
    for number in numbers:
        given = lines[names[number % len(names)]]
        finish(given, tmp_path)
        calls = finish(given, tmp_path)  # with all in the cache, as when it is killed
        assert calls, given
        killed = start(given, chance.randrange(calls), tmp_path)
        _, said = killed.communicate()
        assert killed.returncode == -signal.SIGKILL, said
        for half in tmp_path.rglob("*.half.tmp"):
            os.utime(half, (0, 0))
        finish(given, tmp_path)
        assert not list(tmp_path.rglob("*.tmp")), given
