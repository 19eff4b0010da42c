"""Band and contrast: as they are defined, each hearing what the distances at 8 kHz do not."""

import numpy as np
import pytest

from seqkit.data.sound import Wave
from seqkit.evaluation import hearing
from seqkit.evaluation.hearing import FULL as RATE
from seqkit.evaluation.hearing import Heard, Sound
from seqkit.evaluation.likeness import distances, noise_from
from seqkit.symbols import Floats


def hear(wave: Wave) -> Heard:
    return Sound.of(wave, RATE).hear()


def strings(seconds: float, seed: int = 2) -> Wave:
    """Plucked strings with high partials, over a little hiss."""
    draw = np.random.default_rng(seed)
    time = np.arange(round(seconds * RATE)) / RATE
    wave = draw.normal(0, 1e-4, len(time))
    for begin in np.arange(0, seconds, 0.2):
        hertz = draw.choice([196.0, 220.0, 262.0, 330.0])
        since = np.maximum(time - begin, 0)
        for partial in range(1, 30):
            decay = np.exp(-since * (2 + 0.5 * partial)) * (time >= begin)
            wave += decay * np.sin(2 * np.pi * partial * hertz * since) / partial
    scaled: Wave = (0.95 * wave / np.abs(wave).max()).astype(np.float32)
    return scaled


def written_out(wave: Wave) -> tuple[Floats, Floats]:
    """Band levels (frames, 38) and the contrasts of frames that are loud, from the definition."""
    mirrored = np.concatenate([wave[1024:0:-1], wave, wave[-2:-1026:-1]]).astype(np.float64)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(2048) / 2048)
    edges = sorted({round(3 * (1024 / 3) ** (i / 40)) for i in range(41)})
    levels, contrasts, totals = [], [], []
    for begin in range(0, len(wave) + 1, 512):
        power = np.abs(np.fft.rfft(mirrored[begin : begin + 2048] * window) / 512) ** 2
        bands = [power[edges[i] : edges[i + 1]].mean() for i in range(len(edges) - 1)]
        levels.append(10 * np.log10(np.array(bands) + 10**-8.5))
        partials = 10 * np.log10(power[6:224] + 1e-9)
        contrasts.append(np.percentile(partials, 95) - np.percentile(partials, 25))
        totals.append(10 * np.log10(power.sum() + 1e-9))
    loud = np.array(totals) > max(totals) - 45
    return np.array(levels), np.array(contrasts)[loud]


def frechet(one: Floats, other: Floats) -> float:
    """Of band levels (frames, 38), by the symmetric square root of the first covariance."""
    a, b = np.cov(one.T), np.cov(other.T)
    values, vectors = np.linalg.eigh(a)
    root = vectors @ np.diag(np.sqrt(values.clip(0))) @ vectors.T
    both = np.sqrt(np.linalg.eigvalsh(root @ b @ root).clip(0)).sum()
    return float(np.square(one.mean(0) - other.mean(0)).sum() + a.trace() + b.trace() - 2 * both)


def wasserstein(one: Floats, other: Floats) -> float:
    shares = np.linspace(0, 1, 401)
    return float(np.abs(np.quantile(one, shares) - np.quantile(other, shares)).mean())


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("frames", [2048, 37])
def test_the_distances_are_the_formulas(frames: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hearing, "_AT_ONCE", frames)
    wave, other = strings(3), strings(2.3, seed=5)
    noise = np.random.default_rng(0).uniform(-1, 1, 4 * RATE)
    noise *= np.sqrt(3 * np.square(wave, dtype=np.float64).mean())
    heard = hear(wave)
    found = distances(hear(other), heard)[4:6]
    unit = noise_from(Sound.of(wave, RATE), heard)[4:6]
    of_wave, of_other, of_noise = (
        written_out(sound) for sound in (wave, other, noise.astype(np.float32))
    )
    assert of_wave[0].shape == (1 + len(wave) // 512, 38)
    for place, apart in enumerate((frechet, wasserstein)):
        expected = apart(of_other[place], of_wave[place])
        assert found[place] == pytest.approx(expected, rel=1e-3)
        assert unit[place] == pytest.approx(apart(of_noise[place], of_wave[place]), rel=1e-3)
    assert distances(heard, heard) == pytest.approx([0] * 9, abs=1e-6)
