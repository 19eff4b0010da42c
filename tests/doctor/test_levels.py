"""How loud sound is, measured in blocks."""

import numpy as np
import pytest

from seqkit.doctor.levels import Levels
from seqkit.symbols import Floats

RATE = 8000


def levels_of(*blocks: Floats) -> Levels:
    levels = Levels()
    for block in blocks:
        levels.add(block.astype(np.float32), RATE)
    return levels


def test_a_wave_is_measured_the_same_however_it_is_cut() -> None:
    wave = np.random.default_rng(0).uniform(-0.4, 0.6, 16000)
    levels = levels_of(wave[:4800], wave[4800:4960], wave[4960:])
    assert levels.samples == 16000
    assert levels.peak == pytest.approx(np.abs(wave).max())
    assert levels.swing == pytest.approx((wave.max() - wave.min()) / 2)
    assert levels.offset == pytest.approx(wave.mean(), abs=1e-6)
    assert levels.silence == 0


def test_silence_is_what_lies_far_below_the_rest_whatever_its_offset() -> None:
    noise = np.random.default_rng(0).normal(0, 1, 8000)
    assert levels_of(0.1 * noise, 0.2 + 1e-4 * noise).silence == 0.5
    assert levels_of(0.1 * noise, 0.01 * noise).silence == 0
    assert levels_of(1e-5 * noise).silence == 1  # below -70 dB, whatever the rest is
