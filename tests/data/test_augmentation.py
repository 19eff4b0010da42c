"""Copies of sound are changed as asked for, the same for the same seed; silence is left out."""

import numpy as np

from seqkit.config import DataConfig
from seqkit.data import augmentation
from seqkit.data.augmentation import without_silence
from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Part
from seqkit.symbols import Symbols

RATE = 8000
CODEC = MuLaw(256, RATE)
SLOW = 1000
OF_SLOW = MuLaw(256, SLOW)
FRAME = 20  # samples of 0.02 s at that rate


def tone(hertz: float = 440.0, seconds: float = 1.0) -> Part:
    """A pulsed tone, whose positive half is higher than its negative one."""
    phase = 2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE
    wave = 0.6 * np.cos(phase) + 0.3 * np.cos(2 * phase)
    return Part.of(CODEC.encode(wave.astype(np.float32)))


def test_copies_are_read_with_errors_and_predicted_without() -> None:
    part = tone(seconds=4)
    made = augmentation.with_copies(part, CODEC, DataConfig(copy_noise=3), 8, seed=4)
    assert np.array_equal(made.symbols, np.tile(part.symbols[:], 9))
    assert made.conditions is None
    assert made.heard is not None
    heard = made.heard.reshape(9, -1).astype(int)
    assert np.array_equal(heard[0], part.symbols[:])
    assert made.starts[0] == 0
    assert made.starts[1] == len(part)
    lengths = np.diff(made.starts[1:])
    assert lengths.max() <= 0.4 * RATE
    assert 0.15 * RATE < lengths.mean() < 0.3 * RATE
    wrong = heard[1:] - part.symbols[:].astype(int)
    silent = heard[1:] == CODEC.start
    assert 0.02 < silent.mean() < 0.06
    piece = np.repeat(np.arange(len(lengths)), lengths)
    off = wrong.ravel()[: len(piece)].astype(float)
    off[silent.ravel()[: len(piece)]] = np.nan
    deviations = np.array([np.nanstd(off[piece == number]) for number in range(len(lengths))])
    for level in (0, 0.75, 1.5, 3):  # a quarter each; rounding adds a little
        near = np.abs(deviations - np.hypot(level, 0.29 * (level > 0))) < 0.25
        assert 0.1 < near.mean() < 0.4
    begins = heard.ravel()[made.starts[1:]] == CODEC.start
    assert 0.35 < begins.mean() < 0.65


def test_codes_of_copies_are_a_little_wrong_and_some_are_not_told() -> None:
    low, high = tone(220, 1.5), tone(440, 1.5)
    part = Part.of(np.concatenate([low.symbols[:], high.symbols[:]]))
    book = augmentation.learn_codes(part, CODEC, 1)
    told = augmentation.told(part, CODEC, book).conditions
    assert told is not None
    first, second = np.split(told, 2)
    assert not {*first[800:-800].tolist()} & {*second[800:-800].tolist()}  # notes apart
    made = augmentation.with_copies(part, CODEC, DataConfig(), 6, seed=4, book=book)
    assert made.conditions is not None
    rows = made.conditions.reshape(7, -1)
    assert np.array_equal(rows[0], told)
    assert 0.03 < (rows[1:] == 0).mean() < 0.2
    assert rows.max() < book.size
    again = augmentation.with_copies(part, CODEC, DataConfig(), 6, seed=4, book=book)
    other = augmentation.with_copies(part, CODEC, DataConfig(), 6, seed=5, book=book)
    for name in ("heard", "conditions", "starts"):
        assert np.array_equal(getattr(made, name), getattr(again, name))
    assert not np.array_equal(made.starts, other.starts)


def test_no_piece_goes_beyond_a_document() -> None:
    part = Part.of(tone(300, 0.5).symbols[:], tone(600, 0.25).symbols[:])
    made = augmentation.with_copies(part, CODEC, DataConfig(), 3, seed=0)
    whole = [number * len(part) + start for number in range(4) for start in part.starts.tolist()]
    assert {*whole} <= {*made.starts.tolist()}


def test_how_many_copies_follows_from_how_much_sound_there_is() -> None:
    auto = DataConfig(copies=None)
    found = [augmentation.count(auto, seconds) for seconds in (1, 10, 60, 300, 1200, 3600)]
    assert found == [64, 64, 20, 4, 1, 0]
    assert augmentation.count(DataConfig(), 10) == 0
    assert augmentation.count(DataConfig(copies=7), 3600) == 7


def piece(frames: int, level: float) -> Symbols:
    wave = level * np.sin(np.arange(frames * FRAME) * 0.7)
    return OF_SLOW.encode(wave.astype(np.float32))


def joined(*pieces: Symbols) -> Symbols:
    return np.concatenate(pieces)


def test_the_beginning_goes_and_a_pause_is_shortened() -> None:
    loud, quiet = piece(10, 0.5), piece(40, 0.001)
    first = joined(piece(7, 0.0), loud, quiet, loud, quiet[: 10 * FRAME], loud)
    second = joined(quiet, loud, quiet)
    made = without_silence(Part.of(first, second), OF_SLOW, 40)
    pause = joined(quiet[: 8 * FRAME], quiet[-7 * FRAME :])
    one = joined(loud, pause, loud, quiet[: 10 * FRAME], loud)
    other = joined(loud, pause)
    assert made.starts.tolist() == [0, len(one)]
    assert made.symbols.dtype == np.uint8
    assert np.array_equal(made.symbols, joined(one, other))


def test_a_document_that_is_silent_goes_and_a_silent_part_stays() -> None:
    loud, silent = piece(5, 0.5), piece(30, 0.0)
    made = without_silence(Part.of(silent, loud, silent, loud[:7]), OF_SLOW, 40)
    assert made.starts.tolist() == [0, len(loud)]
    assert len(made) == len(loud) + 7
    for codec in (OF_SLOW, MuLaw(255, SLOW)):  # which has no level but zero between its halves
        part = Part.of(codec.encode(np.zeros(200, np.float32)))
        assert len(without_silence(part, codec, 40)) == 200


def test_what_is_loud_enough_is_left_as_it_is() -> None:
    part = Part.of(joined(piece(9, 0.5), piece(50, 0.02), piece(1, 0.5))[:-3])
    made = without_silence(part, OF_SLOW, 40)
    assert np.array_equal(made.symbols, part.symbols)
    assert len(without_silence(part, OF_SLOW, 20)) < len(part)
