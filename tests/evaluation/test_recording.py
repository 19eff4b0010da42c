"""A recording: what is kept of it judges as it does, whatever the length and the age."""

import numpy as np
import pytest

from seqkit.data import etude
from seqkit.data.sound import Wave
from seqkit.evaluation.hearing import Matrix
from seqkit.evaluation.recording import NEEDED, VERDICT, Recording

RATE = 32000


def sound(seconds: float, rate: int = RATE) -> Wave:
    """Some of the étude."""
    return etude.render(etude.compose(64), rate)[: round(seconds * rate)].astype(np.float32)


WAVE = sound(24)
OWN = Recording.of(WAVE, RATE)
NOISE = np.random.default_rng(3).normal(0, WAVE.std(), 21 * RATE).astype(np.float32)


def with_hiss(wave: Wave) -> Wave:
    draw = np.random.default_rng(4)
    return wave + draw.normal(0, 0.2 * wave.std(), len(wave)).astype(np.float32)


@pytest.mark.parametrize(("wave", "expected"), [(WAVE, True), (NOISE, False)])
def test_the_verdict_does_not_depend_on_the_length(wave: Wave, expected: bool) -> None:
    for seconds in (5, 5.01, 7.3, 10, 20.5):
        said = OWN.judged(wave[: round(seconds * RATE)], RATE)
        assert said.is_like is expected
        for name, limit in zip(OWN.limits._fields, OWN.limits, strict=True):
            assert f"{name} " in said.words
            assert f" {limit:.2f}" in said.words


def test_a_short_sound_has_distances_and_no_verdict() -> None:
    said = OWN.judged(WAVE[: round(RATE * (VERDICT - 0.1))], RATE)
    assert said.is_like is None
    assert said.words == "is too short for a verdict, which needs 5 s of new sound"
    assert said.distances is not None
    assert OWN.judged(WAVE[: round(RATE * (VERDICT - 0.05))], RATE).is_like  # as a loop may be
    shortest = OWN.judged(WAVE[:2000], RATE)
    assert tuple(shortest) == (None, "is too short to compare with the recording", None, None)


def test_the_words_say_what_band_and_contrast_hear() -> None:
    spectrum = np.fft.rfft(WAVE)
    frequency = np.fft.rfftfreq(len(WAVE), 1 / RATE)
    dull = np.fft.irfft(np.where(frequency > 1500, 0, spectrum), len(WAVE)).astype(np.float32)
    bright = np.fft.irfft(np.where(frequency > 1500, 5 * spectrum, spectrum), len(WAVE))
    assert "it is duller" in OWN.judged(dull, RATE).words
    assert "it is brighter" in OWN.judged(bright.astype(np.float32), RATE).words
    hissing = with_hiss(WAVE)
    said = OWN.judged(hissing, RATE)
    assert said.is_like is False
    assert "it hisses" in said.words
    assert "its tones stand out more" in Recording.of(hissing, RATE).judged(WAVE, RATE).words


def test_noise_is_like_noise_and_no_tones_are_told_of_it() -> None:
    noise, other = np.random.default_rng(2).normal(0, 0.2, (2, 12 * RATE)).astype(np.float32)
    own = Recording.of(noise, RATE)
    assert own.judged(other, RATE).is_like
    smoother = np.convolve(other, np.ones(3) / 3, "same").astype(np.float32)
    said = own.judged(smoother, RATE).words
    assert "it is duller" in said
    assert "tones" not in said and "hiss" not in said


def test_a_model_is_not_blamed_for_the_band_that_its_training_could_not_read() -> None:
    low = sound(24, 8000)
    as_read = Recording.of(low, 8000)
    assert as_read.judged(low[: 5 * 8000], 8000).is_like
    assert as_read.measure(low, 8000).band == pytest.approx(0, abs=1e-6)
    bright = Recording.of(with_hiss(WAVE), RATE)  # which has more above 4 kHz
    assert bright.measure(low, 8000).band > NEEDED.band


def test_what_is_kept_is_small_and_judges_as_it_did() -> None:
    kept = OWN.tensors()
    assert sum(values.nbytes for values in kept.values()) < 100_000
    again = Recording.of_saved(kept)
    assert again.limits == OWN.limits
    found = again.measure(NOISE, RATE)
    assert found == pytest.approx(OWN.measure(NOISE, RATE), abs=0.01)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("moments", np.zeros((1, 32), np.uint8)),
        ("moments", np.zeros((2001, 32), np.uint8)),
        ("moments", np.zeros((20, 31), np.uint8)),
        ("notes", np.zeros(1000)),
        ("flux", np.full(401, np.nan)),
        ("level", np.zeros(400)),
        ("spectra_covariance", np.zeros((32, 38))),
        ("unit", np.ones(6)),
        ("stride", np.array(0.0)),
        ("factor", np.ones(2)),
    ],
)
def test_what_cannot_be_a_recording_is_refused(name: str, values: Matrix) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Recording.of_saved(OWN.tensors() | {name: values})
