"""The rule of the draw: which probabilities, and symbols that follow them."""

import math

import numpy as np
import pytest

from seqkit.foundation.randomness import uniforms
from seqkit.generation.sampling import Sampling, draw
from tests.generation.engines.networks import probabilities

LOGITS = np.log(np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]]))


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(), [0.4, 0.3, 0.2, 0.1]),
        (Sampling(temperature=0.5), [16 / 30, 9 / 30, 4 / 30, 1 / 30]),
        (Sampling(temperature=0), [1, 0, 0, 0]),
        (Sampling(top_k=2), [4 / 7, 3 / 7, 0, 0]),
        (Sampling(top_k=9), [0.4, 0.3, 0.2, 0.1]),
        (Sampling(top_p=0.69), [4 / 7, 3 / 7, 0, 0]),
        (Sampling(top_p=0.71), [4 / 9, 3 / 9, 2 / 9, 0]),
        (Sampling(top_p=1e-9), [1, 0, 0, 0]),
        (Sampling(top_k=3, top_p=0.5), [4 / 7, 3 / 7, 0, 0]),
    ],
)
def test_probabilities(sampling: Sampling, expected: list[float]) -> None:
    first, second = probabilities(LOGITS, sampling)
    assert first.tolist() == pytest.approx(expected)
    assert second.tolist() == pytest.approx(expected[::-1])


def test_extreme_logits_make_no_nan() -> None:
    shares = probabilities(np.array([[1e4, -1e4, 0.0], [-math.inf, 0.0, -math.inf]]), Sampling())
    assert shares.tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    "sampling", [Sampling(), Sampling(1.7), Sampling(top_k=3), Sampling(0.9, top_p=0.85)]
)
def test_draws_follow_the_probabilities(sampling: Sampling) -> None:
    count = 1_000_000
    drawn = np.concatenate(
        [
            draw(np.repeat(LOGITS[:1], 50_000, 0), uniforms(9, 0, first, 50_000), sampling)
            for first in range(0, count, 50_000)
        ]
    )
    expected = probabilities(LOGITS[:1], sampling)[0] * count
    observed = np.bincount(drawn, minlength=4)
    possible = expected > 0
    assert not observed[~possible].any()
    chi_square = ((observed - expected)[possible] ** 2 / expected[possible]).sum()
    assert chi_square < 18  # at most 3 degrees of freedom: p = 0.0004


def test_the_ends_of_the_unit_interval_give_possible_symbols() -> None:
    logits = np.log(np.array([[0.0, 0.5, 0.5, 0.0]]) + 1e-300)
    for uniform, symbol in [(0.0, 1), (0.4999, 1), (0.5001, 2), (1 - 2**-53, 2)]:
        assert draw(logits, np.array([uniform]), Sampling(top_k=2)).tolist() == [symbol]
