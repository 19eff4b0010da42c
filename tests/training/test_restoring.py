"""A training goes on from a saved state to the last bit."""

from typing import Any

import pytest
import torch

from seqkit.foundation.errors import CheckpointError
from seqkit.training.events import Event, Stepped
from seqkit.training.trainer import Trainer
from tests.training.test_trainer import trainer


def check_resume(precision: str, step: int, device: str, **settings: object) -> None:
    def made() -> Trainer:
        return trainer(precision=precision, device=device, **settings)  # type: ignore[arg-type]

    straight = made()
    expected = [without_clock(event) for event in straight.run()]

    stopped = made()
    events = []
    for event in stopped.run():
        events.append(without_clock(event))
        if event == Stepped(step):
            break
    values, tensors = stopped.state()
    resumed = made()
    resumed.model.load_state_dict(stopped.model.state_dict())
    resumed.restore(values, {name: tensor.cpu().clone() for name, tensor in tensors.items()})
    events += [without_clock(event) for event in resumed.run()]

    assert events == expected
    for name, value in straight.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name
    after = resumed.validation.model().state_dict()
    for name, value in straight.validation.model().state_dict().items():
        assert torch.equal(value, after[name]), name


ALL: dict[str, object] = {
    "model": {
        "input": "embedding",
        "embedding_size": 6,
        "input_dropout": 0.1,
        "output_dropout": 0.3,
        "weight_drop": 0.4,
        "skip_connections": True,
    },
    "shifted": True,
    "average": 0.9,
    "calibrate": True,
    "reset_state": 0.2,
}


def without_clock(event: Event) -> dict[str, object]:
    clocks = ("seconds", "symbols_per_second")
    return {"event": type(event)} | {k: v for k, v in vars(event).items() if k not in clocks}


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize(("step", "settings"), [(27, ALL), (20, {}), (27, {}), (60, {})])
def test_a_restored_training_goes_on_to_the_last_bit(
    precision: str, step: int, settings: dict[str, object]
) -> None:
    check_resume(precision, step, "cpu", **settings)


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_a_restored_training_goes_on_to_the_last_bit_on_a_gpu(precision: str) -> None:
    check_resume(precision, 27, "cuda")


def saved() -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """A state with all tensors that there are, after three steps."""
    made = trainer(average=0.9)
    for _ in range(3):
        made.update()
    return made.state()


@pytest.mark.parametrize("name", ["optimizer.1.exp_avg", "average.2", "state.c", "nats"])
def test_a_tensor_of_the_state_that_is_another_or_missing_is_refused(name: str) -> None:
    values, tensors = saved()
    own = tensors.pop(name)
    for other in (None, own.half(), own.new_zeros(1, 1)):
        given = tensors if other is None else {**tensors, name: other}
        with pytest.raises(CheckpointError, match=f"{name} is missing, or of another shape"):
            trainer(average=0.9).restore(values, given)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("progress.symbols", "x"),
        ("progress.reported_symbols", "x"),
        ("progress.reported_step", [1]),
        ("progress.step", 10**30),
        ("progress.best_loss", float("nan")),
        ("time.seconds", float("-inf")),
        pytest.param("time.seconds", 10**400, id="time.seconds-huge"),
        ("time.validated", ""),
        ("time.closing", None),
        ("progress", [1]),
        ("time", None),
    ],
)
def test_a_number_of_the_state_that_is_none_is_refused(place: str, value: object) -> None:
    values, tensors = saved()
    record, _, name = place.partition(".")
    values[record] = values[record] | {name: value} if name else value
    with pytest.raises(CheckpointError, match=rf"does not fit this run: {place}="):
        trainer(average=0.9).restore(values, tensors)
