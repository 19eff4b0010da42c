"""Resampling: that of torchaudio, up to the rounding of sums, in pieces and at once."""

import numpy as np
import pytest
import torch
import torchaudio

from seqkit.data.codecs import MuLaw
from seqkit.data.sound import Wave, resample
from seqkit.data.sound.resample import Resampler

RATES = [(44100, 16000), (16000, 44100), (8000, 8000), (11025, 8000), (997, 1009)]


def noise(count: int, seed: int = 1) -> Wave:
    return np.random.default_rng(seed).uniform(-1, 1, count).astype(np.float32)


@pytest.mark.parametrize(("rate", "new_rate"), RATES)
def test_pieces_give_what_the_whole_gives(rate: int, new_rate: int) -> None:
    wave = noise(47_561)  # which torchaudio makes one too short at the second rate
    whole = resample.resample(wave, rate, new_rate)
    assert whole.size == -(-wave.size * new_rate // rate)
    resampler = Resampler(rate, new_rate, channels=2)
    cuts = np.sort(np.random.default_rng(2).integers(0, wave.size, 9))
    frames = np.stack([wave, -wave], axis=1)
    pieces = [resampler.convert(piece) for piece in np.split(frames, cuts)]
    pieces.append(resampler.convert(frames[:0], last=True))
    expected = np.stack([whole, -whole], axis=1)
    np.testing.assert_allclose(np.concatenate(pieces), expected, atol=1e-6)


@pytest.mark.parametrize(("rate", "new_rate"), RATES)
def test_the_samples_are_those_of_torchaudio(rate: int, new_rate: int) -> None:
    wave = noise(5_003)
    transform = torchaudio.transforms.Resample(
        rate, new_rate, lowpass_filter_width=16, rolloff=0.97
    )
    expected = transform(torch.from_numpy(wave)).numpy()
    np.testing.assert_allclose(resample.resample(wave, rate, new_rate), expected, atol=1e-6)


def test_a_steep_filter_keeps_more_and_leaves_less() -> None:
    wave = noise(5_003)
    transform = torchaudio.transforms.Resample(8000, 32000, lowpass_filter_width=64, rolloff=0.99)
    steep = resample.resample(wave, 8000, 32000, resample.STEEP)
    np.testing.assert_allclose(steep, transform(torch.from_numpy(wave)).numpy(), atol=1e-6)
    usual = resample.resample(wave, 8000, 32000)
    above = np.fft.rfftfreq(steep.size, 1 / 32000) > 4000
    left = [np.square(np.abs(np.fft.rfft(sound)[above])).sum() for sound in (steep, usual)]
    assert left[0] < left[1]


@pytest.mark.parametrize("levels", [2, 37, 256, 65536])
def test_every_level_of_mu_law_is_that_of_torchaudio(levels: int) -> None:
    wave = np.concatenate([noise(4_000), np.array([-1, -1e-9, 0, 1e-9, 1], np.float32)])
    codec = MuLaw(levels, 8000)
    expected = torchaudio.functional.mu_law_encoding(torch.from_numpy(wave), levels).numpy()
    assert np.array_equal(codec.encode(wave), expected)
    values = torchaudio.functional.mu_law_decoding(torch.arange(levels), levels).numpy()
    np.testing.assert_allclose(codec.decode(np.arange(levels)), values, rtol=3e-7, atol=6e-8)


def test_rates_too_odd_for_a_table_are_interpolated(monkeypatch: pytest.MonkeyPatch) -> None:
    wave = noise(5_003)
    expected = resample.resample(wave, 997, 1009)
    monkeypatch.setattr(resample, "_LARGEST_TABLE", 0)
    np.testing.assert_allclose(resample.resample(wave, 997, 1009), expected, atol=2e-4)


def test_a_tone_stays_and_what_would_fold_back_goes() -> None:
    time = np.arange(44100) / 44100
    tone = np.sin(2 * np.pi * 1000 * time)
    above = np.sin(2 * np.pi * 9500 * time)
    resampled = resample.resample((tone + above).astype(np.float32), 44100, 16000)
    expected = np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)
    assert np.abs(resampled - expected)[500:-500].max() < 1e-3
