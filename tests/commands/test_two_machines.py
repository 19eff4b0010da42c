"""Two launchers of torchrun, as on two machines, start one run; here both are on one."""

import subprocess
from pathlib import Path

import pytest

from tests.commands.test_torchrun import metrics
from tests.conftest import TINY, Run, spawn, summary_of
from tests.warm_python import python


def launched(port: int, *words: str) -> "list[subprocess.Popen[str]]":
    """A training in two processes, each with a launcher of its own."""
    line = [python(), "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
    line += ["--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{port}", "--rdzv-id=test"]
    line += ["--local-addr=localhost", "--no-python", python(), "-m", "seqkit", *TINY, *words]
    return [spawn(line) for _ in range(2)]


@pytest.mark.thorough
def test_two_launchers_leave_one_run_like_that_of_two_processes_of_one(
    text_file: Path, tmp_path: Path, port: int, run: Run
) -> None:
    words = (f"data.path={text_file}", "train.max_steps=30", "train.validate_every=10")
    both = launched(port, *words, f"run_dir={tmp_path / '2'}")
    said = [one.communicate(timeout=600) for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert sum(bool(out) for out, _ in said) == 1  # one sample
    assert sum(err.count("finished: 30 steps") for _, err in said) == 1
    summary = summary_of(tmp_path / "2")
    assert summary["processes"] == 2
    run.ok(*TINY, *words, f"run_dir={tmp_path / '1'}")
    one, two = metrics(tmp_path / "1"), metrics(tmp_path / "2")
    assert [line[:2] for line in two] == [line[:2] for line in one]
    assert [line[2] for line in two] == pytest.approx([line[2] for line in one], rel=1e-5)
