"""The spectral measure: zero for the same sound, one for noise, and in between in order."""

import numpy as np
import pytest

from seqkit.data.datasets import etude
from seqkit.data.sound import Wave
from seqkit.evaluation.spectral import RATE, Frames, Recording, distance, frames_of


def recording(seconds: float = 4) -> Wave:
    """Some of the étude."""
    return etude.render(etude.compose(32), RATE)[: round(seconds * RATE)].astype(np.float32)


def test_the_distance_of_two_normal_distributions_is_frechets() -> None:
    draw = np.random.default_rng(3)
    # Covariances that commute: then it is the sum of (sqrt(a) - sqrt(b))² over the eigenvalues.
    turn, _ = np.linalg.qr(draw.normal(size=(5, 5)))
    a, b, mean = draw.uniform(0, 3, 5), draw.uniform(0, 3, 5), draw.normal(size=5)
    a[0] = 0.0
    one = Frames(np.zeros(5), turn @ np.diag(a) @ turn.T)
    other = Frames(mean, turn @ np.diag(b) @ turn.T)
    expected = np.square(mean).sum() + np.square(np.sqrt(a) - np.sqrt(b)).sum()
    assert distance(one, other) == pytest.approx(expected)
    assert distance(other, one) == pytest.approx(expected)
    assert distance(other, other) == pytest.approx(0, abs=1e-7)


def test_a_tone_is_in_its_band_and_as_loud_as_it_is() -> None:
    # Bin 20 of 512, in the seventh band, bins 18 to 21: amplitude / 2 times the window's sum.
    tone = 0.5 * np.sin(2 * np.pi * 20 / 512 * np.arange(RATE))
    found = frames_of(tone.astype(np.float32)).mean
    powers = np.square([0.25 * 256, 0.25 * 128, 0.25 * 128])  # the Hann window has three lines
    assert found.argmax() == 6
    assert found[6] == pytest.approx(10 * np.log10(powers.sum() / 4), abs=0.01)


def test_sounds_are_ranked_by_how_near_they_are() -> None:
    wave = recording()
    own = Recording(wave, RATE)
    draw = np.random.default_rng(5)
    noise = draw.uniform(-1, 1, 4 * RATE).astype(np.float32) / (0.95 / np.abs(wave).max())
    hiss = wave + draw.normal(0, 0.05, len(wave)).astype(np.float32)
    found = [own.measure(sound, RATE) for sound in (wave, 0.7 * wave, hiss, noise)]
    assert found[0] == pytest.approx(0, abs=1e-6)
    assert found == sorted(found)
    assert found[3] == pytest.approx(1, abs=0.05)
    halves, on_pitch = own.halves()
    shuffled, by_chance = own.shuffled()
    assert halves < 0.3 < shuffled
    assert on_pitch > 0.5 > by_chance
