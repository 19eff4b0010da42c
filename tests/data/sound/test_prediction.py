"""A linear prediction finds what sound was made of, for each code apart, and minds noise."""

import numpy as np
import pytest

from seqkit.data.sound import Wave, prediction

HOP = 160


def process(weights: tuple[float, float], count: int, seed: int) -> Wave:
    """An autoregressive process, the latest weight last."""
    draw = np.random.default_rng(seed)
    wave, before = np.zeros(count), (0.0, 0.0)
    for place, excitation in enumerate(draw.normal(0, 0.05, count)):
        wave[place] = weights[0] * before[0] + weights[1] * before[1] + excitation
        before = before[1], wave[place]
    return wave.astype(np.float32)


def error(wave: Wave, read: Wave, weights: Wave) -> float:
    """The mean square of what is predicted wrong, reading another wave than is to be predicted."""
    seen = np.lib.stride_tricks.sliding_window_view(read, len(weights))[:-1]
    return float(np.square(wave[len(weights) :] - seen @ weights).mean())


def test_each_code_has_the_weights_of_its_process() -> None:
    first, second = process((-0.9, 1.6), 40 * HOP, 1), process((-0.6, 0.3), 40 * HOP, 2)
    wave = np.concatenate([first, second])
    codes = np.repeat(np.array([1, 3], np.uint8), 40)
    found = prediction.learn(wave, np.zeros_like(wave), codes, HOP, 5, 2)
    assert found.shape == (5, 2)
    assert found[1] == pytest.approx([-0.9, 1.6], abs=0.05)
    assert found[3] == pytest.approx([-0.6, 0.3], abs=0.06)
    for code in (2, 4):  # without frames
        assert found[code] == pytest.approx(found[0], abs=1e-4)
    best, _, _, _ = np.linalg.lstsq(
        np.lib.stride_tricks.sliding_window_view(wave, 2)[:-1], wave[2:], rcond=None
    )
    assert found[0] == pytest.approx(best, abs=0.05)


def test_weights_for_a_noisy_past_are_those_that_predict_from_it() -> None:
    wave = process((-0.95, 1.9), 100 * HOP, 3)
    noise = np.full_like(wave, 0.1)
    read = wave + np.random.default_rng(4).normal(0, 0.1**0.5, len(wave)).astype(np.float32)
    codes = np.zeros(100, np.uint8)
    clean, steady = (prediction.learn(wave, p, codes, HOP, 1, 24)[0] for p in (0 * wave, noise))
    assert error(wave, wave, clean) < error(wave, wave, steady)
    assert error(wave, read, steady) < 0.5 * error(wave, read, clean)
    seen = np.lib.stride_tricks.sliding_window_view(read, 24)[:-1]
    best, _, _, _ = np.linalg.lstsq(seen, wave[24:], rcond=None)
    assert error(wave, read, steady) < 1.05 * error(wave, read, best)
