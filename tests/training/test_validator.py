"""A validation scores the same on every machine, and what it follows is saved before it."""

import copy
from typing import Any

import pytest
from torch import Tensor

from seqkit.training import schedule, validation
from seqkit.training.events import (
    CheckpointDue,
    Event,
    SampleDue,
    Stepped,
    Trained,
    Validated,
)
from seqkit.training.trainer import Trainer
from tests.training.test_trainer import trainer

State = tuple[dict[str, Any], dict[str, Tensor]]


def kept(training: Trainer) -> State:
    """What a checkpoint would hold."""
    values, tensors = training.state()
    copied = {name: copy.copy(value) for name, value in values.items()}
    return copied, {name: tensor.clone() for name, tensor in tensors.items()}


def restored(training: Trainer, other: Trainer, state: State) -> Trainer:
    """The training, with the weights of another one and a state of it."""
    training.model.load_state_dict(other.model.state_dict())
    training.restore(*state)
    return training


def scored(events: list[Event]) -> set[tuple[int, int]]:
    """What validations have scored, and of how much."""
    return {(event.scored, event.total) for event in events if isinstance(event, Validated)}


@pytest.mark.parametrize("minutes", [0.0, 0.002])
def test_of_a_long_part_as_much_is_scored_however_long_it_takes(
    minutes: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "SCORED", 4096)
    training = trainer(valid=20_000, max_steps=10, max_minutes=minutes)
    assert scored(list(training.run())) == {(4096, 20_000)}
    assert training.progress.scored == 4096
    short = trainer(valid=4096, max_steps=10, max_minutes=minutes)
    assert scored(list(short.run())) == {(4096, 4096)}


def test_a_loss_on_another_share_of_the_part_is_not_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a training of an earlier version has it, whose validations scored what it had time for."""
    first = trainer(valid=20_000, max_steps=20)
    list(first.run())
    first.progress.best_loss = 1e-9
    state = kept(first)
    monkeypatch.setattr(validation, "SCORED", 4096)
    second = restored(trainer(valid=20_000, max_steps=40), first, state)
    assert scored(list(second.run())) == {(4096, 20_000)}
    assert second.progress.best_loss > 1e-3  # type: ignore[operator]


def test_a_training_is_saved_before_a_validation_if_the_last_save_is_long_ago(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    straight = trainer(max_steps=40)
    assert order(list(straight.run()), 20) == [Trained, *JUDGED]
    monkeypatch.setattr(schedule, "_UNSAVED", 0.0)
    first = trainer(max_steps=40)
    for event in first.run():
        if event == CheckpointDue(20):
            break
    state = kept(first)
    assert state[0]["progress"]["validating"]
    monkeypatch.undo()
    second = restored(trainer(max_steps=40), first, state)
    events = list(second.run())
    assert order(events, 20) == JUDGED  # not saved once more before
    assert order(events, 40) == [Trained, *JUDGED]
    for one, other in zip(straight.model.parameters(), second.model.parameters(), strict=True):
        assert one.equal(other)


JUDGED = [Validated, CheckpointDue, SampleDue, Stepped]


def order(events: list[Event], step: int) -> list[type[Event]]:
    """The kinds of a step's events."""
    return [type(event) for event in events if event.step == step]
