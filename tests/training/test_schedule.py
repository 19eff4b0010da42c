"""The learning rate follows its curve, and a training by the clock ends on time."""

import itertools
from collections.abc import Callable

import pytest

from seqkit.config import OptimizerConfig
from seqkit.training.events import CheckpointDue, Event, SampleDue, Stepped, Trained, Validated
from seqkit.training.schedule import learning_rate
from seqkit.training.trainer import Trainer
from tests.training.test_trainer import trainer

MINUTE = 60.0


def test_the_learning_rate_warms_up_and_decays_to_its_end() -> None:
    optimizer = OptimizerConfig(lr=0.1, warmup_steps=5)
    rates = [learning_rate(optimizer, step, 105) for step in range(107)]
    assert rates[:5] == pytest.approx([0.02, 0.04, 0.06, 0.08, 0.1])
    assert rates[55] == pytest.approx(0.05)
    assert rates[105:] == pytest.approx([0.0] * 2)
    assert all(a >= b for a, b in itertools.pairwise(rates[5:]))


def test_a_constant_rate_only_warms_up() -> None:
    optimizer = OptimizerConfig(lr=0.1, warmup_steps=5, schedule="constant")
    rates = [learning_rate(optimizer, step, 50) for step in range(60)]
    assert rates == pytest.approx([0.02, 0.04, 0.06, 0.08] + [0.1] * 56)


class Machine:
    """Runs a training in a time of its own: so many seconds for each step and validation."""

    def __init__(self, validation: float = 0.0) -> None:
        self.now = 5000.0
        self.events: list[Event] = []
        self._validation = validation

    def training(self, **train: object) -> Trainer:
        """A training that has one minute."""
        given = {"max_minutes": 1.0, "max_steps": None, "validate_every": 100_000, **train}
        return trainer(lr=1.0, clock=lambda: self.now, **given)  # type: ignore[arg-type]

    def run(
        self, training: Trainer, step: Callable[[float], float], until: int | None = None
    ) -> float:
        """Run it to its end, or to a step: the seconds that it took.

        `step` says how long a step takes, given the seconds that have passed.
        """
        begun = self.now
        for event in training.run():
            self.events.append(event)
            if isinstance(event, Stepped):
                self.now += step(self.now - begun)
                if event.step == until:
                    break
            if isinstance(event, SampleDue):
                self.now += self._validation
        return self.now - begun

    @property
    def rates(self) -> list[float]:
        """The learning rates that were reported."""
        return [event.learning_rate for event in self.events if isinstance(event, Trained)]


def check_rates(rates: list[float]) -> None:
    """They rise once and fall once, and come to their end."""
    peak = rates.index(max(rates))
    assert max(rates) == pytest.approx(1, abs=0.1)
    assert all(a <= b for a, b in itertools.pairwise(rates[: peak + 1]))
    assert all(a >= b for a, b in itertools.pairwise(rates[peak:]))
    assert rates[-1] < 0.01


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize(
    "step",
    [
        lambda passed: 0.5,
        lambda passed: 0.25 if passed < 20 else 1.0,  # something else runs meanwhile
        lambda passed: 1.0 if passed < 20 else 0.25,
        lambda passed: 2.5,  # fewer steps than the warm-up would like
    ],
    ids=["even", "slower", "faster", "slow"],
)
@pytest.mark.parametrize("validation", [0.0, pytest.param(1.5, marks=pytest.mark.thorough)])
def test_it_ends_on_time_however_fast_the_machine_is(
    step: Callable[[float], float], validation: float
) -> None:
    machine = Machine(validation)
    took = machine.run(machine.training(), step)
    assert took == pytest.approx(MINUTE, rel=0.06)
    check_rates(machine.rates)
    validated = [event.step for event in machine.events if isinstance(event, Validated)]
    assert 3 <= len(validated) <= 6
    assert [type(event) for event in machine.events[-5:]] == [
        *(Trained, Validated, CheckpointDue, SampleDue, Stepped)
    ]


@pytest.mark.thorough
def test_a_stop_is_not_counted_and_what_was_before_it_is() -> None:
    machine = Machine()
    first = machine.training()
    took = machine.run(first, lambda passed: 0.4, until=65)
    values, tensors = first.state()
    kept = {name: tensor.clone() for name, tensor in tensors.items()}
    assert first.elapsed == pytest.approx(took)
    machine.now += 3600
    second = machine.training()
    machine.now += 30  # to set it up
    second.model.load_state_dict(first.model.state_dict())
    second.restore(values, kept)
    second.state()  # what is saved before the first step
    assert second.elapsed == pytest.approx(took)
    took += machine.run(second, lambda passed: 0.3)  # on a faster machine
    assert took == pytest.approx(MINUTE, rel=0.02)
    check_rates(machine.rates)
    assert second.finished
    third = machine.training()
    third.restore(*second.state())
    assert third.finished
    longer = machine.training(max_minutes=2.0)
    longer.restore(*second.state())
    assert not longer.finished
    assert machine.run(longer, lambda passed: 0.3) == pytest.approx(MINUTE, rel=0.02)


def test_a_number_of_steps_limits_it_too() -> None:
    machine = Machine()
    training = machine.training(max_steps=80)
    took = machine.run(training, lambda passed: 0.4)
    assert training.progress.step == 80
    assert took == pytest.approx(32)
    check_rates(machine.rates)


def test_a_training_is_saved_every_two_minutes() -> None:
    machine = Machine()
    training = machine.training(max_minutes=0.0, max_steps=150)
    saves = []
    for event in training.run():
        if isinstance(event, CheckpointDue):
            training.state()
            saves.append(event.step)
        if isinstance(event, Stepped):
            machine.now += 5.0
    assert saves == [25, 49, 73, 97, 121, 145, 150]  # 24 steps of 5 s, and the end
