"""Likeness: four distances, zero for the same sound, one for noise, each hearing its own fault."""

import numpy as np
import pytest
import torch

from seqkit.data.datasets import etude
from seqkit.data.sound import Wave
from seqkit.data.sound.resample import resample
from seqkit.evaluation.hearing import LOW as RATE
from seqkit.evaluation.hearing import Normal, Sound
from seqkit.evaluation.likeness import frechet
from seqkit.evaluation.recording import Recording


def recording(seconds: float = 4) -> Wave:
    """Some of the étude."""
    return etude.render(etude.compose(32), RATE)[: round(seconds * RATE)].astype(np.float32)


def test_the_distance_of_two_normal_distributions_is_frechets() -> None:
    draw = np.random.default_rng(3)
    # Covariances that commute: then it is the sum of (sqrt(a) - sqrt(b))² over the eigenvalues.
    turn, _ = np.linalg.qr(draw.normal(size=(5, 5)))
    a, b, mean = draw.uniform(0, 3, 5), draw.uniform(0, 3, 5), draw.normal(size=5)
    a[0] = 0.0
    one = Normal(np.zeros(5), turn @ np.diag(a) @ turn.T)
    other = Normal(mean, turn @ np.diag(b) @ turn.T)
    expected = np.square(mean).sum() + np.square(np.sqrt(a) - np.sqrt(b)).sum()
    assert frechet(one, other) == pytest.approx(expected)
    assert frechet(other, one) == pytest.approx(expected)
    assert frechet(other, other) == pytest.approx(0, abs=1e-7)


def test_sounds_are_ranked_by_how_near_they_are() -> None:
    wave = recording(6)
    own = Recording.of(wave, RATE)
    draw = np.random.default_rng(5)
    noise = draw.normal(0, wave.std(), len(wave)).astype(np.float32)
    hiss = wave + draw.normal(0, 0.05, len(wave)).astype(np.float32)
    same, near, far = (own.measure(sound, RATE) for sound in (wave, hiss, noise))
    assert same == pytest.approx([0] * 9, abs=1e-6)
    assert far.tone == pytest.approx(1, abs=0.05)
    assert far.loudness == pytest.approx(1, abs=0.05)
    assert far.pitch > 0.6
    assert all(a < b < c for a, b, c in zip(same, near, far, strict=True))
    assert all(half < 0.5 for half in own.halves)
    assert own.judged(wave, RATE).words.startswith(
        "sounds like the recording (spectrum 0.00 ≤ 0.10, "
    )
    assert own.judged(noise, RATE).words.startswith(
        "does not sound like the recording: its timbre is another, it lacks the clear "
        "tones of the recording, its loudness varies too little, it is brighter, it hisses, it has "
        "sounds of its own, it moves less, it lacks the pulse of the recording (spectrum 0."
    )
    assert ", it is quieter" in own.judged(0.1 * wave, RATE).words
    assert own.judged(wave[:400], RATE).words == "is too short to compare with the recording"


def test_each_distance_hears_its_own_fault() -> None:
    wave = recording(8)
    own = Recording.of(wave, RATE)
    # Noise with the recording's spectrum, moment by moment: the right colour and level, no tone.
    spectra = torch.stft(
        torch.from_numpy(wave), 64, 16, window=torch.hann_window(64), return_complex=True
    )
    turn = torch.exp(2j * np.pi * torch.rand(spectra.shape, generator=torch.manual_seed(1)))
    coloured = torch.istft(spectra * turn, 64, 16, window=torch.hann_window(64)).numpy()
    assert own.measure(coloured, RATE).tone > 0.4
    # A semitone higher: the same tones, other notes.
    higher = resample(wave, 8000, 7551)
    found = own.measure(higher, RATE)
    assert found.pitch > 0.5 > 5 * found.tone
    # Half of it silent.
    half = np.where(np.arange(len(wave)) % RATE < RATE // 2, wave, 0).astype(np.float32)
    assert own.measure(half, RATE).loudness > 2
    # What none of the first six hears: the order, but for the clicks between pieces.
    pieces = wave[: len(wave) // 800 * 800].reshape(-1, 800)
    mixed = np.random.default_rng(2).permutation(pieces).reshape(-1)
    *others, contrast, _, flux, pulse = own.measure(mixed, RATE)
    assert max(others) < 0.25 < contrast
    assert flux > 0.35
    assert pulse > 0.3
    assert max(own.measure(wave[::-1].copy(), RATE)[:6]) < 0.05


@pytest.mark.parametrize("hertz", [60, 110, 247.5, 480])
def test_a_tone_is_pitched_and_its_semitone_is_right(hertz: float) -> None:
    def tone(frequency: float) -> Wave:
        phase = 2 * np.pi * frequency * np.arange(2 * RATE) / RATE
        return (np.sin(phase) / 2 + np.sin(2 * phase) / 3).astype(np.float32)

    assert Sound.of(tone(hertz), RATE).hear().pitched == 1
    own = Recording.of(tone(hertz), RATE)
    assert own.measure(0.3 * tone(hertz), RATE).pitch == 0
    assert own.measure(tone(hertz * 2 ** (-1 / 12)), RATE).pitch == 1
    noise = np.random.default_rng(3).normal(0, 0.1, RATE).astype(np.float32)
    assert Sound.of(noise, RATE).hear().pitched < 0.05
