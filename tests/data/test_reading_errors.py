"""Sound is read with the errors that were asked for, the same for the same seed."""

import numpy as np
import pytest

from seqkit.config import DataConfig
from seqkit.data import reading_errors
from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Part
from seqkit.data.sound import slow_codes

RATE = 8000
CODEC = MuLaw(256, RATE)


def tone(hertz: float = 440.0, seconds: float = 1.0) -> Part:
    """A pulsed tone, whose positive half is higher than its negative one."""
    phase = 2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE
    wave = 0.6 * np.cos(phase) + 0.3 * np.cos(2 * phase)
    return Part.of(CODEC.encode(wave.astype(np.float32)))


def test_errors_are_as_the_keys_and_the_codec_say() -> None:
    made = reading_errors.errors_of(CODEC, DataConfig(copies=3, copy_noise=2), 50, seed=4)
    assert made is not None
    assert (made.share, made.steps, made.silent_steps) == (0.75, 40, 128)
    assert made.noise == pytest.approx((0, 0.5, 1, 2))
    assert made.codes is None
    assert made.silence.tolist() == [CODEC.start]
    assert np.array_equal(made.readings[0], np.arange(256))
    loud = CODEC.decode(np.arange(256))
    quieter = np.array([np.abs(CODEC.decode(row)) for row in made.readings[1:]])
    assert (quieter <= np.abs(loud) + 1e-6).all()
    factors = np.abs(quieter[:, 255] / loud[255])
    assert np.allclose(factors, np.geomspace(0.05, 0.8, 8), rtol=0.03)
    assert reading_errors.errors_of(CODEC, DataConfig(), 50, seed=4) is None


def test_stereo_is_read_as_mono_is_and_of_two_digits_only_silence_is_wrong() -> None:
    config = DataConfig(copies=1)
    mono = reading_errors.errors_of(CODEC, config, 64, seed=1)
    stereo = reading_errors.errors_of(MuLaw(256, RATE, channels=2), config, 64, seed=1)
    assert mono is not None and stereo is not None
    assert np.array_equal(mono.readings, stereo.readings)
    assert (len(stereo.silence), stereo.silent_steps) == (2, 256)
    codec = MuLaw(65536, RATE, symbols_per_sample=2)
    digits = reading_errors.errors_of(codec, config, 64, seed=1)
    assert digits is not None
    assert (len(digits.readings), digits.noise, digits.replaced) == (1, (0,), 0)
    assert np.array_equal(digits.silence, codec.silent_frame)


def test_codes_are_mistaken_for_those_of_frames_that_are_near() -> None:
    low, high = tone(220, 1.5), tone(440, 1.5)
    part = Part.of(np.concatenate([low.symbols[:], high.symbols[:]]))
    wave = CODEC.decode(part.symbols)
    book = slow_codes.learn(wave, RATE, 1)
    codes = book.codes(book.describe(wave))
    first, second = ({*half[5:-5].tolist()} for half in np.split(codes, 2))
    assert not first & second  # notes apart
    made = reading_errors.errors_of(CODEC, DataConfig(copies=3), 64, seed=4, book=book)
    assert made is not None
    assert made.codes is not None
    assert made.codes.shape[1] == book.size
    assert (made.codes[:, 0] == 0).all()
    assert made.codes[:, 1:].min() >= 1
    right = (made.codes == np.arange(book.size))[:, 1:].mean()
    assert 0.1 < right < 0.95
    for notes, others in ((first, second), (second, first)):
        taken = made.codes[:, sorted(notes)]
        assert np.isin(taken, sorted(others)).mean() < 0.1
