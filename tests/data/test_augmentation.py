"""Copies of sound are changed as asked for, the same for the same seed; silence is left out."""

import numpy as np
import pytest

from seqkit.config import DataConfig
from seqkit.data import augmentation
from seqkit.data.augmentation import without_silence
from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Part
from seqkit.symbols import Symbols
from tests.pitch import pitches

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


def documents(part: Part) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    return [CODEC.decode(piece) for piece in np.split(part.symbols, part.starts[1:])]


def test_copies_have_other_pitches_levels_and_polarity() -> None:
    part, config = tone(), DataConfig(copy_pitch=3.0, copy_gain=6.0)
    made = augmentation.with_copies(part, CODEC, config, 40, seed=4)
    own, *others = documents(made)
    assert np.array_equal(CODEC.encode(own), part.symbols)
    assert len(others) == 40
    semitones = [12 * np.log2(np.median(pitches(wave, RATE)) / 440) for wave in others]
    assert -3.1 < semitones[0] < -2.0 < 2.0 < semitones[-1] < 3.1
    assert min(np.diff(semitones)) > -0.01
    near = np.abs(semitones) < 3 / 32 + 0.04  # half a step of the ratio
    assert 0.4 < near.mean() < 0.7
    lengths = [len(wave) / len(own) for wave in others]
    assert lengths == pytest.approx([2 ** (-s / 12) for s in semitones], abs=0.006)
    peaks = [wave[200:-200].max() + wave[200:-200].min() for wave in others]  # 0.9 - 0.6 upright
    assert [peak > 0 for peak in peaks] == [False, True] * 20
    sizes = [np.abs(wave[200:-200]).max() / 0.9 for wave in others]
    assert all(0.48 < size < 1.03 for size in sizes)
    assert min(sizes) < 0.7
    loud = np.array(sizes) > 10 ** (-6 / 8 / 20) - 0.03
    assert 0.4 < loud.mean() < 0.75


def test_documents_stay_apart_in_every_copy() -> None:
    first, second = tone(300, 0.5), tone(600, 0.25)
    part = Part.of(first.symbols[:], second.symbols[:])
    made = documents(augmentation.with_copies(part, CODEC, DataConfig(copy_pitch=1), 3, seed=0))
    assert len(made) == 8
    assert [len(a) / len(b) for a, b in zip(made[::2], made[1::2], strict=True)] == pytest.approx(
        [2] * 4, abs=0.002
    )
    found = [float(np.median(pitches(wave, RATE, 0.0625))) for wave in made]
    assert found[::2] == pytest.approx([300] * 4, rel=0.07)
    assert found[1::2] == pytest.approx([600] * 4, rel=0.07)


def test_a_seed_gives_the_same_copies_and_another_one_others() -> None:
    part, config = tone(), DataConfig()
    one, same, other = (
        augmentation.with_copies(part, CODEC, config, 3, seed=seed).symbols for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert len(one) != len(other)
    assert augmentation.with_copies(part, CODEC, config, 0, seed=1) is part


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
