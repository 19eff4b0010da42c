"""Resampling: the same with and without torchaudio, in pieces and at once."""

import tracemalloc

import numpy as np
import pytest

from seqkit.data.sound import Wave, resample
from seqkit.data.sound.resample import Resampler
from seqkit.data.sound.torchaudio_import import torchaudio

RATES = [
    (44100, 16000),
    (16000, 44100),
    (48000, 16000),
    (8000, 8000),
    (11025, 8000),
    (997, 1009),
    (22050, 16000),
]


def noise(count: int, seed: int = 1) -> Wave:
    return np.random.default_rng(seed).uniform(-1, 1, count).astype(np.float32)


@pytest.fixture(params=["torchaudio", "without"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "without":
        monkeypatch.setattr(resample, "torchaudio", lambda: None)
    return str(request.param)


@pytest.mark.parametrize(("rate", "new_rate"), RATES)
def test_pieces_give_what_the_whole_gives(rate: int, new_rate: int, library: str) -> None:
    wave = noise(20_011)
    whole = resample.resample(wave, rate, new_rate)
    assert whole.size == -(-wave.size * new_rate // rate)
    resampler = Resampler(rate, new_rate)
    cuts = np.sort(np.random.default_rng(2).integers(0, wave.size, 9))
    pieces = [resampler.convert(piece) for piece in np.split(wave, cuts)]
    pieces.append(resampler.convert(noise(0), last=True))
    np.testing.assert_allclose(np.concatenate(pieces), whole, atol=1e-6)


@pytest.mark.parametrize(("rate", "new_rate"), RATES)
def test_every_bit_is_the_same_without_torchaudio(
    rate: int, new_rate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wave = noise(5_003)
    assert torchaudio() is not None
    expected = resample.resample(wave, rate, new_rate)
    monkeypatch.setattr(resample, "torchaudio", lambda: None)
    assert np.array_equal(resample.resample(wave, rate, new_rate), expected)


@pytest.mark.parametrize(("rate", "new_rate"), RATES)
def test_rates_too_odd_for_a_table_are_interpolated(
    rate: int, new_rate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wave = noise(5_003)
    expected = resample.resample(wave, rate, new_rate)
    monkeypatch.setattr(resample, "_LARGEST_TABLE", 0)
    np.testing.assert_allclose(resample.resample(wave, rate, new_rate), expected, atol=2e-4)


def test_a_tone_stays_and_what_would_fold_back_goes(library: str) -> None:
    time = np.arange(44100) / 44100
    tone = np.sin(2 * np.pi * 1000 * time)
    above = np.sin(2 * np.pi * 9500 * time)
    resampled = resample.resample((tone + above).astype(np.float32), 44100, 16000)
    expected = np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)
    assert np.abs(resampled - expected)[500:-500].max() < 1e-3


def test_a_rate_that_no_recorder_has_takes_no_more_memory_than_the_wave() -> None:
    tracemalloc.start()
    made = resample.resample(noise(2_000_000), 999_983, 8000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert made.size == -(-2_000_000 * 8000 // 999_983)
    assert peak < 200e6
