"""The learning rate follows its curve."""

import itertools

import pytest

from seqkit.config import OptimizerConfig
from seqkit.training.schedule import learning_rate


@pytest.mark.parametrize("final", [0.0, 0.1])
def test_the_learning_rate_warms_up_and_decays_to_its_end(final: float) -> None:
    optimizer = OptimizerConfig(lr=0.1, warmup_steps=5, final_lr=final)
    rates = [learning_rate(optimizer, step, 105) for step in range(107)]
    assert rates[:5] == pytest.approx([0.02, 0.04, 0.06, 0.08, 0.1])
    assert rates[55] == pytest.approx(0.05 * (1 + final))
    assert rates[105:] == pytest.approx([0.1 * final] * 2)
    assert all(a >= b for a, b in itertools.pairwise(rates[5:]))


def test_there_may_be_no_warm_up() -> None:
    assert learning_rate(OptimizerConfig(lr=0.1, warmup_steps=0), 0, 10) == 0.1


def test_a_constant_rate_only_warms_up() -> None:
    optimizer = OptimizerConfig(lr=0.1, warmup_steps=5, schedule="constant", final_lr=0.1)
    rates = [learning_rate(optimizer, step, 50) for step in range(60)]
    assert rates == pytest.approx([0.02, 0.04, 0.06, 0.08] + [0.1] * 56)
