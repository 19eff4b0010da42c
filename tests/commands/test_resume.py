"""Runs that were stopped, or finished, go on as if nothing had happened, or are left alone."""

import re
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import (
    SENTENCE,
    TINY,
    Run,
    completed,
    metrics_of,
    same,
    saved,
    start,
    summary_of,
    wait_for_steps,
)
from tests.warm_python import python

pytestmark = pytest.mark.faults

LONG = ("train.max_steps=300", "train.checkpoint_every=15", "train.validate_every=180")


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A text, the folder of a long run on it that was never stopped, and its closing sample."""
    folder = tmp_path_factory.mktemp("straight")
    text = folder / "text.txt"
    text.write_text(SENTENCE * 60)
    out, err = start(folder / "run", text, *LONG).communicate()
    assert (folder / "run" / "summary.json").exists(), err
    return text, folder / "run", out


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGTERM, 75), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_a_stopped_run_goes_on_as_if_nothing_had_happened(
    sent: signal.Signals, code: int, straight: tuple[Path, Path, str], tmp_path: Path
) -> None:
    text, never_stopped, sample = straight
    folder = tmp_path / "it's a\nrun"
    stopped = start(folder, text, *LONG)
    wait_for_steps(folder, 70)
    stopped.send_signal(sent)
    out, err = stopped.communicate()
    assert (stopped.returncode, out, "Traceback" in err) == (code, "", False), err
    told = re.findall("the state is saved: go on with: (python -m seqkit .*)", err)
    assert len(told) == (code > 0)
    line = told[0] if told else f"python -m seqkit {shlex.quote(f'run_dir={folder}')} resume=auto"
    resumed = completed(["bash", "-c", line.replace("python", f'"{python()}"', 1)], cwd="/")
    assert resumed.returncode == 0, resumed.stderr
    assert "going on at step" in resumed.stderr
    assert resumed.stdout == sample
    assert same(folder, never_stopped)
    steps = [line["step"] for line in metrics_of(folder)]
    assert steps == sorted(steps)


def test_resume_force_needs_a_run(run: Run, tiny: list[str], tmp_path: Path) -> None:
    run.fails(4, *tiny, "resume=force")
    assert not (tmp_path / "a").exists()


def test_a_fine_tuned_run_is_resumed_by_its_own_command(
    run: Run, trained: Path, text_file: Path, tmp_path: Path
) -> None:
    arguments = [
        "recipe=shakespeare", f"data.path={text_file}", f"run_dir={tmp_path / 'b'}", "device=cpu",
        f"init_from={trained}", "resume=auto", "model.dropout=0.3", "train.batch_size=4",
    ]  # fmt: skip
    assert "the model is that of the checkpoint" in run.ok(*arguments, "train.max_steps=2").err
    run.ok(*arguments, "train.max_steps=4")
    last = saved(tmp_path / "b")
    assert (last.model.hidden_size, last.model.dropout, last.metrics["step"]) == (24, 0.3, 4)


def test_a_shape_cannot_be_forced(run: Run, tiny: list[str]) -> None:
    run.ok(*tiny, "train.max_steps=2")
    more = [*tiny, "train.max_steps=4", "resume=force"]
    refused = run(*more, "model.hidden_size=20")
    assert (refused.code, "resume=force" in refused.err) == (2, False)
    run.ok(*more, "model.dropout=0.4")


def test_a_finished_run_needs_no_data_to_say_so_and_keeps_its_settings(
    run: Run, tiny: list[str], text_file: Path
) -> None:
    arguments = [*tiny, "resume=auto", "train.max_steps=3"]
    run.ok(*arguments)
    text_file.unlink()
    assert "finished" in run.ok(*arguments, "prompt_file=none").err
    assert "optimizer.lr" in run.fails(2, *arguments, "optimizer.lr=0.5")


@pytest.mark.thorough
def test_a_budget_of_time_is_spent_once_and_can_be_raised(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    words = [*TINY, f"data.path={text_file}", f"run_dir={folder}", "resume=auto"]
    words.append("optimizer.schedule=cosine")

    def summary(*more: str) -> dict[str, Any]:
        run.ok(*words, *more)
        return summary_of(folder)

    first = summary("train.max_minutes=0.02", "train.validate_every=20")
    assert first["elapsed_seconds"] >= 0.8 * 1.2
    again = run(*words, "train.max_minutes=0.02", "train.validate_every=20")
    assert "a larger train.max_minutes extends it" in again.err
    more = summary("train.max_minutes=0.04")
    assert more["steps"] > first["steps"]
    assert more["elapsed_seconds"] >= 0.8 * 2.4
    rates = [line["learning_rate"] for line in metrics_of(folder) if line["event"] == "train"]
    assert rates[-1] < 0.1 * max(rates)
    last = summary("train.max_steps=99999", "train.max_minutes=0.06")["steps"]
    assert last > more["steps"]
    limited = run(*words, "train.max_steps=5", "train.max_minutes=0.08")
    assert "this run is finished" in limited.err
