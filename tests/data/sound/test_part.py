"""A part of sound without its silence, whichever codec it is of."""

import numpy as np
import pytest

from seqkit.data.codecs import MuLaw, Spectral
from seqkit.data.corpus import Part
from seqkit.data.sound.part import without_silence
from seqkit.symbols import Symbols

CODEC = MuLaw(256, 1000)
FRAME = 20  # samples of 0.02 s at that rate


def piece(frames: int, level: float) -> Symbols:
    wave = level * np.sin(np.arange(frames * FRAME) * 0.7)
    return CODEC.encode(wave.astype(np.float32))


def test_the_beginning_goes_and_a_pause_is_shortened() -> None:
    loud, quiet = piece(10, 0.5), piece(40, 0.001)
    first = np.concatenate([piece(7, 0.0), loud, quiet, loud, quiet[: 10 * FRAME], loud])
    second = np.concatenate([quiet, loud, quiet])
    made = without_silence(Part.of(first, second), CODEC, 40)
    pause = np.concatenate([quiet[: 8 * FRAME], quiet[-7 * FRAME :]])
    one = np.concatenate([loud, pause, loud, quiet[: 10 * FRAME], loud])
    other = np.concatenate([loud, pause])
    assert made.starts.tolist() == [0, len(one)]
    assert np.array_equal(made.symbols, np.concatenate([one, other]))


def test_a_document_that_is_silent_goes_and_a_silent_part_stays() -> None:
    loud, silent = piece(5, 0.5), piece(30, 0.0)
    made = without_silence(Part.of(silent, loud, silent, loud[:7]), CODEC, 40)
    assert made.starts.tolist() == [0, len(loud)]
    assert len(made) == len(loud) + 7
    for codec in (CODEC, MuLaw(255, 1000)):  # which has no level but zero between its halves
        part = Part.of(codec.encode(np.zeros(200, np.float32)))
        assert len(without_silence(part, codec, 40)) == 200


def test_what_is_loud_enough_is_left_as_it_is() -> None:
    symbols = np.concatenate([piece(9, 0.5), piece(50, 0.02), piece(1, 0.5)])[:-3]
    assert np.array_equal(without_silence(Part.of(symbols), CODEC, 40).symbols, symbols)
    assert len(without_silence(Part.of(symbols), CODEC, 20)) < len(symbols)


def test_pauses_between_frames_become_short_and_documents_begin_with_sound() -> None:
    rate = 4800
    sound = np.random.default_rng(1).uniform(-0.5, 0.5, (3 * rate, 2)).astype(np.float32)
    sound[rate : 2 * rate] = 0
    codec = Spectral.fit(sound, rate, 192)
    part = Part.of(codec.encode(sound), codec.encode(sound[rate:]), frame=codec.phases)
    kept = without_silence(part, codec, 40)
    assert len(kept) / codec.symbol_rate == pytest.approx(1 + 0.3 + 1 + 1, abs=0.15)
    assert kept.starts[0] == 0 and len(kept.starts) == 2
    assert kept.starts[1] % codec.phases == 0
    powers, hop = codec.powers(kept.symbols), codec.samples_of(codec.phases)
    for begin in kept.starts // codec.phases:  # of 20 ms not all is loud
        assert powers[begin : begin + round(0.02 * rate / hop)].max() > powers.max() / 1e3
