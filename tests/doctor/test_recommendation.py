"""The rule: what is recommended follows the data, the time and the machine."""

import dataclasses
import math

import pytest

from seqkit.config import ModelConfig
from seqkit.doctor import fit, recommendation, speed
from seqkit.doctor.recommendation import Task, recommend
from seqkit.doctor.speed import Speed

SPEED = Speed({128: 2e11, 256: 2e11}, 32)
TASK = Task("text", 1_000_000, 65, 2.1, 60.0, "fp32", None)


def test_a_validation_part_is_as_large_as_there_is_time_for() -> None:
    large = dataclasses.replace(TASK, symbols=90_000_000, split=[0.9, 0.1, 0.0])
    split = recommend(large, SPEED).keys["data.split"]
    assert split[1] < 0.1
    assert sum(split) == pytest.approx(1)
    assert 20_000 <= split[1] * 100_000_000 < 5_000_000
    hour = recommend(dataclasses.replace(large, seconds=3600), SPEED).keys["data.split"]
    assert hour[1] > split[1]
    small = dataclasses.replace(TASK, symbols=100_000, split=[0.9, 0.1, 0.0])
    assert recommend(small, SPEED).keys["data.split"] is None
    assert recommend(dataclasses.replace(large, split=None), SPEED).keys["data.split"] is None


def width(task: Task) -> int:
    return recommend(task, SPEED).model.hidden_size


def test_more_time_makes_more_steps_and_wider_networks() -> None:
    times = [10, 60, 600, 3600]
    found = [recommend(dataclasses.replace(TASK, seconds=time), SPEED) for time in times]
    widths = [one.model.hidden_size for one in found]
    assert widths == sorted(widths)
    assert (widths[0], widths[-1]) == (128, 512)
    losses = [one.expected.loss for one in found]
    assert losses == sorted(losses, reverse=True)
    for time, one in zip(times, found, strict=True):
        assert 0.8 * time < one.seconds <= time
        assert one.keys["train.max_steps"] == one.steps
        assert one.read == one.steps * 32 * 64


def test_no_more_memory_is_used_than_there_is() -> None:
    roomy = dataclasses.replace(TASK, seconds=3600)
    assert width(dataclasses.replace(roomy, free=200_000_000)) < width(roomy)
    assert width(dataclasses.replace(roomy, free=1000)) == 128


def test_what_is_read_again_and_again_is_dropped_out() -> None:
    assert recommend(TASK, SPEED).keys["model.dropout"] == 0
    again = recommend(dataclasses.replace(TASK, symbols=50_000), SPEED)
    assert again.epochs > 8
    assert again.keys["model.dropout"] > 0


def test_many_symbols_are_embedded() -> None:
    found = recommend(dataclasses.replace(TASK, vocabulary=5000), SPEED)
    assert (found.keys["model.input"], found.keys["model.embedding_size"]) == ("embedding", 128)


def test_a_slow_machine_gets_a_run_all_the_same() -> None:
    slow = recommend(TASK, Speed({128: 1e8, 256: 1e8}, 32))
    assert (slow.steps, slow.model.hidden_size) == (100, 128)
    assert slow.seconds > TASK.seconds


def test_the_fit_is_that_of_the_runs_it_was_made_from() -> None:
    """Millions of symbols and nats of recipe=shakespeare, see docs/results.md."""
    for millions, loss in [(2.05, 1.5525), (4.1, 1.4535), (8.2, 1.4014), (12.3, 1.3794)]:
        found = fit.expected_loss("text", 2.128, 1e6 * millions, 1e6, 65)
        assert found.low < loss < found.high
        assert found.within
    assert not fit.expected_loss("text", 2.128, 1e8, 1e8, 65).within
    read = fit.expected_loss("text", 2.128, 1e7, 1e3, 65)
    assert read.loss > fit.expected_loss("text", 2.128, 1e7, 1e7, 65).loss


def test_no_loss_above_blind_guessing_is_expected() -> None:
    found = fit.expected_loss("text", 2.0, 1e3, 1e3, 2)
    assert found.low <= found.loss == found.high == math.log(2)


@pytest.mark.thorough
@pytest.mark.parametrize("vocabulary", [65, 5000])
def test_the_speed_of_this_machine_is_measured(vocabulary: int) -> None:
    network = recommendation.network(vocabulary)
    measured = speed.measure(network, 4, "fp32")
    seconds = [
        measured.step_seconds(dataclasses.replace(network, hidden_size=width), 64)
        for width in (64, 128, 256, 512)
    ]
    assert seconds == sorted(seconds)
    assert all(1e-4 < one < 1e3 for one in seconds)


def test_the_speed_of_wider_layers_is_guessed_from_the_widest() -> None:
    wide = ModelConfig(num_layers=2, hidden_size=512, vocabulary_size=65)
    narrow = dataclasses.replace(wide, hidden_size=256)
    ratio = SPEED.step_seconds(wide, 64) / SPEED.step_seconds(narrow, 64)
    assert 2.5 < ratio < 4.5
