"""Trainings that run by the persistent kernel, from the command line."""

import json
from pathlib import Path

import pytest

from seqkit.training.step import TrainingStep
from tests.conftest import TINY, Run, metrics_of, same, saved

PERSISTENT = (
    *(*TINY, "device=cuda", "train.precision=auto", "model.hidden_size=64"),
    *("train.deterministic=true", "train.max_steps=60", "train.validate_every=30"),
)
"""Overrides of a deterministic run by the persistent kernel."""


@pytest.mark.gpu
def test_a_deterministic_run_repeats_to_the_bit_with_the_persistent_kernel(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    metrics = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        run.ok(*PERSISTENT, f"data.path={text_file}", f"run_dir={folder}")
        rows = metrics_of(folder)
        timed = ("seconds", "symbols_per_second")
        metrics.append([{k: v for k, v in row.items() if k not in timed} for row in rows])
        state = saved(folder).training
        assert state is not None
        assert state["execution"]["kernel"] == "persistent"
    assert metrics[0] == metrics[1]
    assert same(tmp_path / "a", tmp_path / "b")


def give_up(patch: pytest.MonkeyPatch) -> None:
    """Let the persistent kernel give up in step 24."""
    make = TrainingStep.run

    def run(stepper: TrainingStep, step: int, rate: float) -> int:
        if step == 24 and stepper._gave_up is not None:
            stepper._gave_up.fill_(1)
        return make(stepper, step, rate)

    patch.setattr(TrainingStep, "run", run)


@pytest.mark.gpu
def test_a_kernel_asked_for_that_gives_up_ends_the_run_with_5_and_its_state_saved(
    run: Run, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    given = [*PERSISTENT, f"data.path={text_file}", "model.backend=persistent"]
    run.ok(*given, f"run_dir={straight}")
    with monkeypatch.context() as patch:
        give_up(patch)
        result = run(*given, f"run_dir={broken}")
    assert result.code == 5
    assert "in vain: train with model.backend=cudnn" in result.err
    assert "at step 24; the state is saved: go on with" in result.err
    assert "Traceback" not in result.err
    about = json.loads((broken / "about.json").read_text())
    assert about["ended"] == {"how": "stopped", "step": 24}
    assert "going on at step 24" in run.ok(*given, f"run_dir={broken}", "resume=auto").err
    assert same(straight, broken)


@pytest.mark.gpu
def test_cudnn_goes_on_by_itself_as_it_does_when_asked_to(
    run: Run, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    itself, asked = tmp_path / "itself", tmp_path / "asked"
    given = [*PERSISTENT, f"data.path={text_file}"]
    with monkeypatch.context() as patch:
        give_up(patch)
        said = run.ok(*given, f"run_dir={itself}").err
        assert run(*given, f"run_dir={asked}", "model.backend=persistent").code == 5
    assert said.count("in vain: cuDNN goes on after step 24") == 1
    run.ok(*given, f"run_dir={asked}", "model.backend=cudnn", "resume=auto")
    assert same(itself, asked)
