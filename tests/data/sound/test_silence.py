"""Silence is left out of the sound that is learnt."""

import numpy as np

from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Part
from seqkit.data.sound.part import without_silence
from seqkit.symbols import Symbols

RATE = 1000
CODEC = MuLaw(256, RATE)
FRAME = 20  # samples of 0.02 s at that rate


def trimmed(part: Part, codec: MuLaw = CODEC, decibels: float = 40) -> Part:
    """The part without silence."""
    return without_silence(part, codec, decibels)


def piece(frames: int, level: float) -> Symbols:
    wave = level * np.sin(np.arange(frames * FRAME) * 0.7)
    return CODEC.encode(wave.astype(np.float32))


def joined(*pieces: Symbols) -> Symbols:
    return np.concatenate(pieces)


def test_the_beginning_goes_and_a_pause_is_shortened() -> None:
    loud, quiet = piece(10, 0.5), piece(40, 0.001)
    first = joined(piece(7, 0.0), loud, quiet, loud, quiet[: 10 * FRAME], loud)
    second = joined(quiet, loud, quiet)
    made = trimmed(Part.of(first, second))
    pause = joined(quiet[: 8 * FRAME], quiet[-7 * FRAME :])
    one = joined(loud, pause, loud, quiet[: 10 * FRAME], loud)
    other = joined(loud, pause)
    assert made.starts.tolist() == [0, len(one)]
    assert made.symbols.dtype == np.uint8
    assert np.array_equal(made.symbols, joined(one, other))


def test_a_document_that_is_silent_goes_and_a_silent_part_stays() -> None:
    loud, silent = piece(5, 0.5), piece(30, 0.0)
    made = trimmed(Part.of(silent, loud, silent, loud[:7]))
    assert made.starts.tolist() == [0, len(loud)]
    assert len(made) == len(loud) + 7
    for codec in (CODEC, MuLaw(255, RATE)):  # which has no level but zero between its halves
        part = Part.of(codec.encode(np.zeros(200, np.float32)))
        assert len(trimmed(part, codec)) == 200


def test_what_is_loud_enough_is_left_as_it_is() -> None:
    part = Part.of(joined(piece(9, 0.5), piece(50, 0.02), piece(1, 0.5))[:-3])
    made = trimmed(part)
    assert np.array_equal(made.symbols, part.symbols)
    assert len(trimmed(part, decibels=20)) < len(part)
