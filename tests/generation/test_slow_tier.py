"""The slow tier writes a recording's own codes on, asked for in any pieces, and is kept whole."""

import itertools
from functools import partial

import numpy as np
import pytest
import torch

from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Part
from seqkit.data.sound import Wave
from seqkit.data.sound.part import SoundPart
from seqkit.foundation.console import unseen
from seqkit.foundation.machine import HOST
from seqkit.generation import continuation
from seqkit.generation.request import Request
from seqkit.generation.slow_tier import SlowTier, Writing
from seqkit.stages.conditions import coded, learn_codes
from seqkit.stages.learn_slow_tier import learn_writer
from seqkit.symbols import Symbols

pytestmark = pytest.mark.thorough

RATE = 2000
HOP = RATE // 50
CODEC = MuLaw(256, RATE)
NOTHING: Symbols = np.zeros(0, np.uint8)


def notes(*hertz: float, seconds: float = 0.4) -> Wave:
    time = np.arange(round(seconds * RATE)) / RATE
    return np.concatenate([0.5 * np.sin(2 * np.pi * f * time) for f in hertz]).astype(np.float32)


@pytest.fixture(scope="module")
def slow() -> SlowTier:
    """That of three notes that follow each other, over and over."""
    sound = SoundPart(Part.of(CODEC.encode(notes(*[150, 300, 600] * 6))), CODEC)
    book = learn_codes(sound, 1)
    return learn_writer(coded(sound, book), CODEC, book, 1, [], unseen)


def writing(streams: int, seed: int) -> Writing:
    """What a command asks of the writer."""
    return Writing(streams, seed, engine_of=partial(continuation.engine_of_codes, Request(1), HOST))


def note_of(slow: SlowTier, code: int) -> int:
    """Which of the three notes has a code most often among its frames."""
    frames = slow.codes.reshape(-1, 3, 20)  # six times three notes of twenty frames
    return int((frames == code).sum((0, 2)).argmax())


@pytest.mark.thorough
def test_it_writes_the_notes_in_their_order(slow: SlowTier) -> None:
    rows = slow.written(CODEC, NOTHING, writing(2, 3))(0, 400 * HOP)
    assert not torch.is_inference_mode_enabled()
    assert (rows.reshape(400, HOP, 2) == rows[::HOP, None]).all()
    for stream in rows[::HOP].T:
        heard = np.array([note_of(slow, code) for code in stream])
        changes = np.flatnonzero(np.diff(heard))
        lengths = np.diff(changes)
        assert np.median(lengths) == pytest.approx(20, abs=3)
        following = (heard[changes + 1] - heard[changes]) % 3 == 1
        assert following.mean() > 0.7
    assert not np.array_equal(rows[:, 0], rows[:, 1])


def test_what_it_writes_does_not_depend_on_how_it_is_asked(slow: SlowTier) -> None:
    whole = slow.written(CODEC, NOTHING, writing(2, 3))(0, 3000)
    codes = slow.written(CODEC, NOTHING, writing(2, 3))
    begins = [0, 1, 7, HOP, HOP + 3, 900, 2999, 3000]
    pieces = [codes(a, b - a) for a, b in itertools.pairwise(begins)]
    assert np.array_equal(np.concatenate(pieces), whole)
    other = slow.written(CODEC, NOTHING, writing(2, 4))(0, 3000)
    assert not np.array_equal(other, whole)


def test_it_is_kept_whole_and_what_is_foreign_is_refused(slow: SlowTier) -> None:
    record, tensors = slow.record(), slow.tensors()
    again = SlowTier.of_saved(record, tensors)
    first, second = (tier.written(CODEC, NOTHING, writing(1, 6))(0, 900) for tier in (slow, again))
    assert np.array_equal(first, second)
    codes = tensors["codes"]
    for wrong in (codes + 200, codes - 9, codes[:0]):
        with pytest.raises(ValueError, match="codes that are not in the codebook"):
            SlowTier.of_saved(record, tensors | {"codes": wrong})
    with pytest.raises(ValueError, match="a writer of"):
        SlowTier.of_saved(
            record, tensors | {"centres": tensors["centres"][:-1], "codes": 0 * codes}
        )
