"""`evaluate` in several processes: the figures of one, said once, and an end when one ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.commands.by_hand import by_hand
from tests.commands.test_torchrun import workers
from tests.conftest import SENTENCE, Run, spawn, torchrun

WORDS = ("json=true", "device=cpu")


def started(
    trained: Path, *words: str, count: int = 2, launcher: str = ""
) -> "subprocess.Popen[str]":
    """An evaluation in so many processes; `launcher` is the Python that starts them."""
    line = torchrun(count, "seqkit", "evaluate", f"checkpoint={trained}", *WORDS, *words)
    return spawn([launcher or line[0], *line[1:]])


@pytest.mark.thorough
@pytest.mark.parametrize("protocol", ["streaming", "windowed", "dynamic"])
def test_two_processes_print_what_one_prints(
    protocol: str, trained: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(SENTENCE * (20 if protocol == "dynamic" else 800))
    words = (f"protocol={protocol}", f"data.path={tmp_path / 'a.txt'}")
    out, said = started(trained, *words).communicate(timeout=600)
    assert out.count("\n") == 1, said
    several = json.loads(out)
    one = json.loads(run("evaluate", f"checkpoint={trained}", *WORDS, *words).out)
    shared = protocol != "dynamic"
    assert (said.count("runs in one process"), several["device"][:3] == "2 ×") == (
        not shared,
        shared,
    )
    assert several.keys() == one.keys()
    for name in one.keys() - {"device"}:
        expected = one[name]
        if isinstance(expected, float) or name.endswith("_interval"):
            expected = pytest.approx(expected, rel=1e-6)
        assert several[name] == expected, name


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than two GPUs")
@pytest.mark.parametrize("protocol", ["streaming", "windowed"])
def test_two_gpus_print_what_one_prints(
    protocol: str, trained: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(SENTENCE * 800)
    words = (f"protocol={protocol}", f"data.path={tmp_path / 'a.txt'}", "device=cuda")
    out, said = started(trained, *words).communicate(timeout=600)
    assert out.count("\n") == 1, said
    alone = run("evaluate", f"checkpoint={trained}", *WORDS, *words)
    one, two = json.loads(alone.out), json.loads(out)
    assert two["device"] == f"2 × {one['device']}"
    assert two["loss"] == pytest.approx(one["loss"], rel=1e-5)
    assert two["loss_interval"] == pytest.approx(one["loss_interval"], rel=1e-5)


@pytest.mark.thorough
def test_processes_that_differ_are_told_apart(
    trained: Path, text_file: Path, tmp_path: Path, port: int
) -> None:
    (tmp_path / "other.txt").write_text("the rain " * 100)
    command = ("evaluate", f"checkpoint={trained}", *WORDS)
    words = (f"data.path={text_file}",)
    for other, said in (
        ((*words, "window=9"), "rank 1 differs from rank 0: it has window=9, not 256"),
        (("data.path=other.txt",), "it has the data's sha256="),
        (("data.path=none.txt",), "rank 1: none.txt"),
        ((*words, "checkpoint=none"), "rank 1: "),
    ):
        first, second = by_hand(tmp_path, port, words, other, command=command)
        assert first[0] != 0
        assert first[2].count("seqkit: error:") == 1
        assert said in first[2].splitlines()[-1]
        assert (first[1], second[1:]) == ("", ("", ""))


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc")
def test_a_killed_process_ends_the_evaluation(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(SENTENCE * 60_000)
    words = [f"data.path={tmp_path / 'a.txt'}", f"out={tmp_path / 'out.json'}"]
    words += ["protocol=windowed", "window=1"]  # it takes a minute
    several = started(trained, *words, launcher=sys.executable)  # whose children are found
    assert several.stderr is not None
    assert any(line.startswith("evaluate ") for line in several.stderr)
    os.kill(workers(several.pid)[1], signal.SIGKILL)
    out, said = several.communicate(timeout=600)
    assert several.returncode == 1
    assert (out, said.count("seqkit: error:")) == ("", 1)
    assert "exitcode  : -9" in said
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
