"""The command line in several processes: one run, one voice, and an end when one of them ends."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from seqkit.advice.verdict import judge
from seqkit.runs.record import read
from tests.commands.by_hand import begun_by_hand, by_hand, outcomes
from tests.commands.test_persistent_runs import PERSISTENT
from tests.conftest import (
    TINY,
    Run,
    metrics_of,
    same,
    saved,
    spawn,
    summary_of,
    torchrun,
    wait_for_steps,
)

ENDLESS = ("train.max_steps=100000", "train.checkpoint_every=10", "train.validate_every=0")


def started(
    count: int, *words: str, more: tuple[str, ...] = (), module: str = "seqkit"
) -> "subprocess.Popen[str]":
    """A training in so many processes."""
    return spawn(torchrun(count, module, *TINY, *words, more=more))


def workers(launcher: int) -> dict[int, int]:
    """The processes that a launcher started, by rank."""
    found: dict[int, int] = {}
    for task in Path(f"/proc/{launcher}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            words = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            ranks = [int(word[5:]) for word in words if word.startswith(b"RANK=")]
            found |= dict.fromkeys(ranks, child)
    return found


def metrics(run: Path) -> list[tuple[str, int, float]]:
    lines = metrics_of(run)
    return [(line["event"], line["step"], line["loss"]) for line in lines]


def test_two_processes_leave_one_run_like_that_of_one(
    text_file: Path, tmp_path: Path, run: Run
) -> None:
    words = (f"data.path={text_file}", "train.max_steps=60", "train.validate_every=20")
    several = started(2, *words, f"run_dir={tmp_path / '2'}")
    out, said = several.communicate(timeout=600)
    assert several.returncode == 0, said
    alone = run.ok(*TINY, *words, f"run_dir={tmp_path / '1'}")
    assert len(out.encode()) == len(alone.out)  # one sample
    assert said.count("finished: 60 steps") == 1
    one, two = metrics(tmp_path / "1"), metrics(tmp_path / "2")
    assert [line[:2] for line in two] == [line[:2] for line in one]
    assert [line[2] for line in two] == pytest.approx([line[2] for line in one], rel=1e-5)
    summary = summary_of(tmp_path / "2")
    assert (summary["processes"], summary["device"][:3]) == (2, "2 ×")
    assert {path.name for path in (tmp_path / "1").iterdir()} == {
        path.name for path in (tmp_path / "2").iterdir()
    }


@pytest.mark.thorough
def test_two_processes_stop_together_and_one_goes_on(
    text_file: Path, tmp_path: Path, run: Run
) -> None:
    folder = tmp_path / "run"
    several = started(2, *ENDLESS, f"data.path={text_file}", f"run_dir={folder}")
    wait_for_steps(folder, 20)
    several.terminate()
    _, said = several.communicate(timeout=600)
    again = f"torchrun --standalone --nproc-per-node=2 -m seqkit run_dir={folder} resume=auto\n"
    assert said.count(f"the state is saved: go on with: {again}") == 1
    assert judge(read(folder)).command == again.rstrip()
    step = saved(folder).metrics["step"]
    gone_on = run.ok(f"run_dir={folder}", "resume=auto", f"train.max_steps={step + 5}")
    assert f"going on at step {step}" in gone_on.err


@pytest.mark.parametrize("rank", [0, 1])
def test_a_signal_to_one_process_stops_both_with_its_exit_code(
    rank: int, text_file: Path, tmp_path: Path, port: int
) -> None:
    words = (*ENDLESS, f"data.path={text_file}", "run_dir=run")
    with begun_by_hand(tmp_path, port, words, words) as both:
        wait_for_steps(tmp_path / "run", 20)
        both[rank].terminate()
        first, second = outcomes(both)
    assert (first[0], second[0]) == (75, 75)
    assert first[2].splitlines()[-1].startswith("seqkit: error: stopped by SIGTERM at step")
    assert (first[1], second[1:]) == ("", ("", ""))


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc")
def test_a_killed_process_ends_the_run_unless_it_may_start_again(
    text_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    words = (*ENDLESS, f"data.path={text_file}", f"run_dir={folder}", "resume=auto")
    line = torchrun(2, "seqkit", *TINY, *words, more=("--max-restarts=1",))
    several = spawn([sys.executable, *line[1:]])
    wait_for_steps(folder, 20)
    os.kill(workers(several.pid)[1], signal.SIGKILL)
    reached = max(step for _, step, _ in metrics(folder))
    wait_for_steps(folder, reached // 10 * 10 + 50)  # it goes on by itself
    os.kill(workers(several.pid)[1], signal.SIGKILL)
    _, said = several.communicate(timeout=600)
    assert several.returncode == 1
    assert said.count("seqkit: error: another process has ended") == 2
    launcher = "torchrun --standalone --nproc-per-node=2"
    again = f"is whole. To go on: {launcher} -m seqkit run_dir={folder} resume=auto\n"
    assert said.count(again) == 2
    assert "going on at step" in said
    cause = said.partition("Root Cause")[2]
    assert "rank      : 1" in cause
    assert "exitcode  : -9" in cause
    assert saved(folder).training


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("optimizer.lr=0.5", "it differs from rank 0 and has optimizer.lr=0.5, not 0.01"),
        ("data.path=none.txt", "none.txt: cannot be read"),
        ("data.path=other.txt", "it differs from rank 0 and has the data's sha256="),
    ],
)
def test_a_process_that_differs_tells_and_the_first_that_it_ended(
    other: str, said: str, text_file: Path, tmp_path: Path, port: int
) -> None:
    (tmp_path / "other.txt").write_text("another text.\n" * 100)
    words = (f"data.path={text_file.name}", "run_dir=run")
    others = (*words[other.startswith("data") :], other)  # a second path would be one more file
    first, second = by_hand(tmp_path, port, words, others)
    assert (first[0], second[0]) == (5, 3 if "none" in other else 2)
    assert "seqkit: error: rank 1: " in second[2]
    assert said in second[2].splitlines()[-1]
    assert "seqkit: error: another process has ended" in first[2]
    assert (first[2].count("seqkit: error:"), second[2].count("seqkit: error:")) == (1, 1)
    assert not (tmp_path / "run").exists()


def test_a_port_in_use_is_one_line(text_file: Path, tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("localhost", 0))
        held.listen()
        words = (f"data.path={text_file}", "run_dir=run")
        ((code, _, said),) = by_hand(tmp_path, held.getsockname()[1], words)
    assert code == 2
    assert "Is the port in use" in said
    assert "Traceback" not in said
    assert not (tmp_path / "run").exists()


@pytest.mark.thorough
def test_one_voice_tells_of_a_wrong_key_and_prints_what_is_no_training(
    tmp_path: Path, port: int, trained: Path
) -> None:
    first, second = by_hand(tmp_path, port, ("train.max_step=3",), ("data.kind=sound",))
    assert (first[0], second[0]) == (2, 2)
    assert "did you mean train.max_steps" in first[2]
    assert "rank 1: " in second[2]
    inspected = by_hand(tmp_path, port, (), (), command=("inspect", f"checkpoint={trained}"))
    assert [bool(out) for _, out, _ in inspected] == [True, False]
    helped = by_hand(tmp_path, port, (), (), command=())
    assert [bool(out) for _, out, _ in helped] == [True, False]
    swept = by_hand(tmp_path, port, ("--multirun",), ("--multirun",))
    assert all("leave torchrun out" in said for _, _, said in swept)


@pytest.mark.thorough
def test_more_processes_than_lanes_are_refused(text_file: Path, tmp_path: Path, port: int) -> None:
    words = (f"data.path={text_file}", "run_dir=run", "train.batch_size=1")
    first, second = by_hand(tmp_path, port, words, words)
    assert (first[0], second[0]) == (2, 2)
    assert "2 processes cannot share 1 lane: start fewer" in first[2]
    assert "seqkit: error: rank 1: 2 processes cannot" in second[2]  # torchrun had ended it
    assert not (tmp_path / "run").exists()


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than two GPUs")
def test_a_kernel_that_gives_up_in_one_process_ends_all(text_file: Path, tmp_path: Path) -> None:
    def ended(folder: str, module: str = "seqkit") -> tuple[int, str]:
        words = [*PERSISTENT, f"data.path={text_file}", f"run_dir={tmp_path / folder}"]
        words += ["train.checkpoint_every=20"]
        training = started(2, *words, "resume=auto", module=module)
        _, said = training.communicate(timeout=600)
        return training.returncode, said

    code, said = ended("straight")
    assert code == 0, said
    code, said = ended("broken", "tests.commands.giving_up")
    assert code != 0
    assert said.count("in vain") == 1
    assert said.count("resume=auto model.backend=cudnn") == 1
    code, said = ended("broken")
    assert code == 0, said
    assert "going on at step 20" in said
    assert same(tmp_path / "straight", tmp_path / "broken")
