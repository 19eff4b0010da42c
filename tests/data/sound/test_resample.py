"""Resampling: what torchaudio makes of a whole, up to the rounding of sums, in pieces, too."""

import sys

import numpy as np
import pytest
import torch
import torchaudio

from seqkit.data.codecs import MuLaw
from seqkit.data.sound import Wave
from seqkit.data.sound.resample import resampled
from seqkit.foundation.errors import ConfigError

RATES = [(44100, 16000), (16000, 44100), (8000, 8000), (11025, 8000), (997, 1009)]


def noise(count: int, seed: int = 1) -> Wave:
    return np.random.default_rng(seed).uniform(-1, 1, count).astype(np.float32)


@pytest.mark.parametrize(("rate", "new_rate"), RATES)
def test_pieces_give_what_torchaudio_makes_of_the_whole(rate: int, new_rate: int) -> None:
    wave = noise(47_561)
    transform = torchaudio.transforms.Resample(
        rate, new_rate, lowpass_filter_width=16, rolloff=0.97
    )
    whole = transform(torch.from_numpy(wave)).numpy()
    cuts = np.sort(np.random.default_rng(2).integers(0, wave.size, 9))
    pieces = np.split(np.stack([wave, -wave], axis=1), cuts)
    new = np.concatenate([*resampled(pieces, rate, new_rate, channels=2)])
    assert len(new) == -(-wave.size * new_rate // rate)
    assert len(new) - whole.size in (0, 1)  # torchaudio rounds in 32 bits
    np.testing.assert_allclose(new[: whole.size, 0], whole, atol=1e-6)
    np.testing.assert_allclose(new[: whole.size, 1], -whole, atol=1e-6)


@pytest.mark.parametrize("levels", [2, 37, 256, 1024])
def test_every_level_of_mu_law_is_that_of_torchaudio(levels: int) -> None:
    wave = np.concatenate([noise(4_000), np.array([-1, -1e-9, 0, 1e-9, 1], np.float32)])
    codec = MuLaw(levels, 8000)
    expected = torchaudio.functional.mu_law_encoding(torch.from_numpy(wave), levels).numpy()
    assert np.array_equal(codec.encode(wave), expected)
    values = torchaudio.functional.mu_law_decoding(torch.arange(levels), levels).numpy()
    np.testing.assert_allclose(codec.decode(np.arange(levels)), values, rtol=3e-7, atol=6e-8)


def test_odd_rates_are_rounded_to_a_ratio_within_a_thousandth() -> None:
    wave = np.sin(2 * np.pi * 1000 * np.arange(44107) / 44107).astype(np.float32)
    (new,) = np.concatenate([*resampled([wave[:, None]], 44107, 32003)]).T
    assert new.size == pytest.approx(32003, rel=1e-3)
    assert np.abs(np.fft.rfft(new[:30000])).argmax() == pytest.approx(1000 * 30000 / 32003, abs=2)


def test_without_torchaudio_a_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchaudio.transforms", None)
    assert len(np.concatenate([*resampled([noise(9)[:, None]], 8000, 8000)])) == 9
    with pytest.raises(ConfigError, match="8000 Hz cannot become 4000 Hz: torchaudio does not"):
        [*resampled([noise(9)[:, None]], 8000, 4000)]
