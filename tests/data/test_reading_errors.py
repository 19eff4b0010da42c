"""Sound is read with the errors that were asked for."""

import pytest

from seqkit.config import DataConfig
from seqkit.data import reading_errors
from seqkit.data.codecs import MuLaw

RATE = 8000
CODEC = MuLaw(256, RATE)


def test_errors_are_as_the_keys_and_the_codec_say() -> None:
    made = reading_errors.errors_of(CODEC, DataConfig(copies=3, copy_noise=2), 50)
    assert made is not None
    assert (made.share, made.steps, made.silent_steps) == (0.75, 40, 128)
    assert (made.noise, made.symbols) == (2.0, 256)
    assert made.silence.tolist() == [CODEC.start]
    finer = reading_errors.errors_of(MuLaw(512, RATE), DataConfig(copies=3), 50)
    assert finer is not None and finer.noise == pytest.approx(3.4)
    assert reading_errors.errors_of(CODEC, DataConfig(), 50) is None
