"""Event files as TensorBoard's own reader understands them."""

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.conftest import (
    TINY,
    Run,
    metrics_of,
    saved,
    start,
    wait_for_steps,
)

WORDS = ("log.tensorboard=true", "train.validate_every=10", "optimizer.lr=0.02")


def read(run: Path) -> EventAccumulator:
    """All that the event files of a run say."""
    found = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0, "tensors": 0})
    found.Reload()
    return found


def steps(found: EventAccumulator, tag: str) -> list[int]:
    return [event.step for event in found.Scalars(tag)]


def test_a_training_of_text_is_read_back(run: Run, text_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = [*TINY, *WORDS, f"data.path={text_file}", f"run_dir={folder}", "train.max_steps=20"]
    run.ok(*words)
    found = read(folder)
    lines = metrics_of(folder)
    for event, names in {
        "train": ("loss", "learning_rate", "gradient_norm", "symbols_per_second"),
        "validate": ("loss", "bits_per_symbol"),
    }.items():
        room = "validation" if event == "validate" else event
        expected = [line for line in lines if line["event"] == event]
        for name in names:
            scalars = found.Scalars(f"{room}/{name}")
            assert [one.step for one in scalars] == [line["step"] for line in expected]
            values = [line[name] for line in expected]
            assert [one.value for one in scalars] == pytest.approx(values, rel=1e-6)
    (text, last) = found.Tensors("sample/text_summary")
    assert (text.step, last.step) == (10, 20)
    shown = text.tensor_proto.string_val[0].decode()
    sample = (folder / "samples" / "step_0000010.txt").read_text()
    assert shown == "\n".join(f"    {line}" for line in sample.split("\n"))


def test_what_a_kill_undid_is_left_out_when_the_run_goes_on(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    words = [*WORDS, "train.max_steps=100000", "train.validate_every=50"]
    with start(folder, text_file, *words) as training:
        wait_for_steps(folder, 80)
        training.kill()
    last = saved(folder).metrics["step"]
    undone = max(steps(read(folder), "train/loss"))
    assert undone > last
    end = last + 50
    run.ok(f"run_dir={folder}", "resume=auto", f"train.max_steps={end}")
    assert len([*(folder / "tensorboard").iterdir()]) == 2
    found = read(folder)
    lines = metrics_of(folder)
    expected = [line for line in lines if line["event"] == "train"]
    assert steps(found, "train/loss") == [line["step"] for line in expected]
    values = [line["loss"] for line in expected]
    assert [one.value for one in found.Scalars("train/loss")] == pytest.approx(values, rel=1e-6)
