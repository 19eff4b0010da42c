"""Trainings that run by the persistent kernel, from the command line."""

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
@pytest.mark.parametrize("backend", ["cudnn", "auto"])
def test_a_kernel_that_gives_up_ends_the_run_which_goes_on_from_its_last_checkpoint(
    backend: str, run: Run, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    given = [*PERSISTENT, f"data.path={text_file}", "train.checkpoint_every=20"]
    run.ok(*given, f"run_dir={straight}")
    with monkeypatch.context() as patch:
        give_up(patch)
        result = run(*given, f"run_dir={broken}")
    assert result.code == 5
    assert "waited for each other in vain" in result.err
    assert "resume=auto model.backend=cudnn" in result.err
    assert "Traceback" not in result.err
    words = [*given, f"run_dir={broken}", "resume=auto", f"model.backend={backend}"]
    assert "going on at step 20" in run.ok(*words).err
    assert same(straight, broken) == (backend == "auto")
