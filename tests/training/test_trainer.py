"""The loop learns, and follows its schedule."""

import math
import time
from collections.abc import Callable

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig, OptimizerConfig, TrainConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.foundation.errors import DivergedError
from seqkit.foundation.ranks import ALONE, Ranks
from seqkit.generation.engines import build_engine
from seqkit.generation.sampler import Request, Sampling, sample_blocks
from seqkit.lstm import Execution
from seqkit.model.char_rnn import CharRNN
from seqkit.stages.network import task_of
from seqkit.training.events import CheckpointDue, SampleDue, Stepped, Trained, Validated
from seqkit.training.schedule import Clock
from seqkit.training.step import Plan
from seqkit.training.trainer import Trainer

V = 5


def part(size: int, seed: int) -> Part:
    """A cycle through the symbols with a few random jumps: it can be learnt, not by heart."""
    rng = np.random.default_rng(seed)
    jumps = (rng.random(size) < 0.05) * rng.integers(1, V, size)
    return Part(((np.arange(size) + jumps.cumsum()) % V).astype(np.uint8), np.zeros(1, np.int64))


def trainer(
    *,
    lr: float = 0.02,
    batch: int = 4,
    precision: str = "fp32",
    valid: int = 200,
    device: str = "cpu",
    clock: Callable[[], float] = time.monotonic,
    model: dict[str, object] | None = None,
    shifted: bool = False,
    ranks: Ranks = ALONE,
    **train: object,
) -> Trainer:
    settings = TrainConfig(
        **{
            "batch_size": batch,
            "sequence_length": 10,
            "max_steps": 60,
            "validate_every": 20,
            **train,
        }  # type: ignore[arg-type]
    )
    shape = {"num_layers": 2, "hidden_size": 12, "vocabulary_size": V, "dropout": 0.2}
    config = ModelConfig(**{**shape, **(model or {})})  # type: ignore[arg-type]
    network = CharRNN(config, torch.Generator().manual_seed(1)).to(device)
    size = settings.batch_size, settings.sequence_length
    lanes = Lanes(part(900, 1), 0, *size, shift_seed=3 if shifted else None)
    lanes.share_out(ranks.rank.number, ranks.rank.size)
    validation = part(valid, 2) if valid else Part(np.zeros(0, np.uint8), np.zeros(0, np.int64))
    optimizer = OptimizerConfig(lr=lr, warmup_steps=5)
    execution = Execution("layerwise", precision, task_of(network, lanes).width)
    plan = Plan(optimizer, settings, 7, execution)
    timed = Clock(settings.max_minutes, clock)
    return Trainer(network, lanes, validation, plan, timed, ranks)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_it_learns(precision: str) -> None:
    events = list(trainer(max_steps=150, precision=precision).run())
    losses = [event.loss for event in events if isinstance(event, Validated)]
    assert losses[-1] < 0.4
    assert losses[-1] < 0.5 * losses[0]
    reports = [event for event in events if isinstance(event, Trained)]
    assert reports[0].step == 1
    assert reports[0].loss == pytest.approx(math.log(V), abs=0.1)
    assert reports[-1].symbols > 150 * 4 * 10 * 0.9


def test_it_ends_at_the_epoch_or_when_patience_is_out() -> None:
    lanes_steps = Lanes(part(900, 1), 0, 4, 10).steps
    assert trainer(max_epochs=2, max_steps=1000).total_steps == 2 * lanes_steps
    impatient = trainer(lr=1e-9, patience=2, validate_every=1, max_steps=50)
    validations = [event for event in impatient.run() if isinstance(event, Validated)]
    assert [event.improved for event in validations[-2:]] == [False, False]
    assert impatient.progress.step < 50
    assert impatient.finished
    late = trainer()
    late.progress.step = 1000  # and now there is a lower limit
    assert isinstance(next(late.run()), Validated)


def test_events_come_when_they_are_due() -> None:
    events = list(trainer(max_steps=50, validate_every=20, checkpoint_every=15).run())
    assert [e.step for e in events if isinstance(e, Validated)] == [20, 40, 50]
    assert [e.step for e in events if isinstance(e, CheckpointDue)] == [15, 20, 30, 40, 45, 50]
    assert [e.step for e in events if isinstance(e, SampleDue)] == [20, 40, 50]
    assert [type(e) for e in events if e.step == 20] == [
        *(Trained, Validated, CheckpointDue, SampleDue, Stepped)
    ]
    without = list(trainer(valid=0, max_steps=50, validate_every=20).run())
    assert not [e for e in without if isinstance(e, Validated)]
    for kind in (CheckpointDue, SampleDue):
        assert [e.step for e in without if isinstance(e, kind)] == [20, 40, 50]


def test_a_loss_that_is_not_finite_ends_the_training() -> None:
    broken = trainer()
    with torch.no_grad():
        broken.model.head.bias.fill_(math.nan)
    with pytest.raises(DivergedError, match=r"nan at step 1.*optimizer\.lr"):
        list(broken.run())


def test_weights_that_are_not_finite_are_never_saved() -> None:
    broken = trainer()
    with torch.no_grad():
        broken.model.head.bias.fill_(math.inf)
    with pytest.raises(DivergedError, match="weights are not finite"):
        broken.state()


@pytest.mark.gpu
@pytest.mark.parametrize("average", [0.0, 0.9])
def test_samples_on_the_way_change_no_weights(average: float) -> None:
    def weights(engine: str | None) -> list[torch.Tensor]:
        training = trainer(max_steps=60, device="cuda", valid=0, validate_every=20, average=average)
        assert training.prepare() is None
        for event in training.run():
            if isinstance(event, SampleDue) and engine:
                network = training.validation.model()
                built = build_engine(engine, network, network.config.vocabulary_size, Request(1))
                state, labels = network.zero_state(1).arrays(), np.zeros(1, np.int64)
                [*sample_blocks(built, np.zeros((1, V)), state, 40, Sampling(), labels=labels)]
        training.state()
        return [weight.cpu() for weight in training.validation.model().parameters()]

    plain = weights(None)
    for engine in ("torch", "cuda_graph"):
        assert all(map(torch.equal, plain, weights(engine)))


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_a_graph_in_any_precision_learns_as_eager_fp32_does(precision: str) -> None:
    def losses(precision: str, graph: bool) -> list[float]:
        training = trainer(max_steps=200, precision=precision, device="cuda", lr=0.01, valid=0)
        if graph:
            assert training.prepare() is None
        return [event.loss for event in training.run() if isinstance(event, Trained)]

    expected, found = losses("fp32", graph=False), losses(precision, graph=True)
    assert len(expected) == len(found) == 21
    assert sum(found) == pytest.approx(sum(expected), rel=0.01)
    assert found == pytest.approx(expected, rel=0.05)


def test_the_average_is_chosen_where_it_predicts_better() -> None:
    training = trainer(lr=0.1, average=0.9, max_steps=120)
    seen = [event for event in training.run() if isinstance(event, Validated)]
    for event in seen:
        losses = {"raw": event.raw_loss, "average": event.average_loss}
        assert event.loss == losses[event.weights] == min(losses.values())  # type: ignore[type-var]
    assert {event.weights for event in seen} == {"raw", "average"}
    assert (training.validation.model() is training.model) == (seen[-1].weights == "raw")
    unseen = trainer(average=0.9, valid=0)
    assert unseen.validation.model() is not unseen.model
