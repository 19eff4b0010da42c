"""A validation takes its share of the time and no more, and a long one comes after a save."""

import copy
from typing import Any

import pytest
from torch import Tensor

from seqkit.config import OptimizerConfig
from seqkit.training import validator
from seqkit.training.events import (
    CheckpointDue,
    Event,
    PartScored,
    SampleDue,
    Stepped,
    Trained,
    Validated,
)
from seqkit.training.time_budget import TimeBudget
from seqkit.training.trainer import Trainer
from tests.training.test_trainer import trainer

MANY = 2_000_000  # symbols, which no machine scores in the time that these trainings have
State = tuple[dict[str, Any], dict[str, Tensor]]


def brief(minutes: float, **train: object) -> Trainer:
    """A training that ends by the clock."""
    return trainer(valid=MANY, max_minutes=minutes, **{"max_steps": None, **train})  # type: ignore[arg-type]


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


def until(training: Trainer, step: int) -> list[Event]:
    """The events up to the end of a step."""
    events: list[Event] = []
    for event in training.run():
        events.append(event)
        if event == Stepped(step):
            break
    return events


def scored(events: list[Event]) -> list[tuple[int, int]]:
    """What validations have scored, and of how much."""
    return [(event.scored, event.total) for event in events if isinstance(event, Validated)]


def test_a_part_that_takes_too_long_is_scored_in_part() -> None:
    first = brief(0.001, validate_every=0)
    events = list(first.run())
    (told,) = (event for event in events if isinstance(event, PartScored))
    assert {*scored(events)} == {(told.scored, MANY)}
    assert told.scored == first.progress.scored
    assert told.scored < MANY / 2
    assert told.scored.bit_count() == 1
    longer = restored(brief(0.02, validate_every=0), first, kept(first))  # has time for more
    assert told.scored < scored(list(longer.run()))[0][0]


def test_trainings_that_are_compared_score_what_is_agreed() -> None:
    asked: list[int] = []

    def agree(time_for: int) -> int:
        asked.append(time_for)
        return 4096

    first = brief(0.2, validate_every=30)
    for event in first.run(agree=agree):
        if event == Stepped(30):
            break
    assert first.progress.scored == 4096
    assert len(asked) == 1
    assert 4096 < asked[0] < MANY
    second = restored(brief(0.2, validate_every=30), first, kept(first))
    assert scored(until(second, 60))[0][0] == 4096


@pytest.mark.parametrize(
    ("agreed", "expected"),
    [(1 << 14, 1 << 14), (1 << 18, 1 << 18), (1 << 19, 1 << 19), (MANY, 1 << 20)],
)
def test_what_is_agreed_takes_a_third_of_the_time_at_most(
    agreed: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 1e-4  # a symbol: there is time for 360,000, and at most for 1,200,000
    monkeypatch.setattr(validator.Validator, "_seconds_each", lambda self: seconds)
    events = brief(6.0, validate_every=0).run(agree=lambda own: agreed)
    assert next(event.scored for event in events if isinstance(event, PartScored)) == expected


def test_what_is_scored_stays_the_same_after_a_stop() -> None:
    first = brief(0.2, validate_every=30)
    before = until(first, 30)
    second = restored(brief(0.2, validate_every=30), first, kept(first))
    after = until(second, 60)
    assert len({*scored(before), *scored(after)}) == 1
    assert scored(after)[0][0] < MANY
    assert not any(isinstance(event, PartScored) for event in after)


def test_a_loss_on_all_of_the_part_is_not_compared_with_one_on_less() -> None:
    whole = trainer(valid=MANY // 10, max_steps=20)
    list(whole.run())
    whole.progress.best_loss = 1e-9
    state = kept(whole)
    state[0]["time"]["seconds"] = 0.0
    part = trainer(valid=MANY // 10, max_steps=None, max_minutes=0.0002)
    events = list(restored(part, whole, state).run())
    assert scored(events)[0][0] < MANY // 10
    assert part.progress.best_loss > 1e-3  # type: ignore[operator]


@pytest.mark.parametrize(
    ("whole", "each", "validations", "run"),
    [
        (400_000, 1e-4, 5, 72_000),  # a fifth of a tenth of six minutes
        (1_200_000, 1e-4, 1, 360_000),  # a tenth
        (400_000, 1e-4, 10, 36_000),
        (216_000, 1e-4, 5, 216_000),  # three times its share
        (400_000, 1e-4, 20, 32_768),  # by which losses can be told apart
        (32_768, 1e-3, 20, 32_768),
        (10**9, 1.0, 1, 36),  # a tenth of the time
        (10**9, 0.0, 1, 10**9),  # by a clock that stands
    ],
)
def test_validations_share_a_tenth_of_the_time(
    whole: int, each: float, validations: float, run: int
) -> None:
    budget = TimeBudget(6.0, OptimizerConfig(), None)
    assert budget.affordable(whole, each, validations) == run


@pytest.mark.parametrize(("every", "expected"), [(0, 1.0), (10**9, 5.0)])
def test_the_only_validation_has_the_whole_tenth(
    every: int, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, affordable = [], TimeBudget.affordable

    def noted(budget: TimeBudget, whole: int, each: float, validations: float) -> int:
        found.append(validations)
        return affordable(budget, whole, each, validations)

    monkeypatch.setattr(TimeBudget, "affordable", noted)
    list(brief(0.001, validate_every=every).run())
    assert found == [expected]


def test_a_validation_of_more_is_expected_to_take_longer() -> None:
    budget = TimeBudget(6.0, OptimizerConfig(), None)
    budget.spent.validated, budget.spent.closing = 5.0, 1.0
    budget.plan_validations(1000, 3.0)
    assert budget.spent.closing == 3.0


def test_a_training_is_saved_before_a_validation_that_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    straight = trainer(max_steps=40)
    assert order(list(straight.run()), 20) == [Trained, *JUDGED]
    monkeypatch.setattr(validator, "_LONG", 0.0)
    first = trainer(max_steps=40)
    for event in first.run():
        if isinstance(event, CheckpointDue):
            break
    state = kept(first)
    assert state[0]["progress"]["validating"]
    second = restored(trainer(max_steps=40), first, state)
    events = list(second.run())
    assert order(events, 20) == JUDGED  # not saved once more before
    assert order(events, 40) == [Trained, CheckpointDue, *JUDGED]
    for one, other in zip(straight.model.parameters(), second.model.parameters(), strict=True):
        assert one.equal(other)


JUDGED = [Validated, CheckpointDue, SampleDue, Stepped]


def order(events: list[Event], step: int) -> list[type[Event]]:
    """The kinds of a step's events."""
    return [type(event) for event in events if event.step == step]
