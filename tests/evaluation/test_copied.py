"""Copies of a recording are found through hiss, gain and quantising, and nothing else is."""

import numpy as np
import pytest

from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Part
from seqkit.data.datasets import etude
from seqkit.data.sound import Wave
from seqkit.evaluation import copied
from seqkit.evaluation.recited import Index
from seqkit.symbols import Symbols

NOTHING: Symbols = np.zeros(0, np.uint8)


def melody(seed: int, seconds: float, rate: int) -> Wave:
    """Plucked notes of one instrument, in an order of their own."""
    draw, hop = np.random.default_rng(seed), round(0.2 * rate)
    wave = np.zeros(round(seconds * rate) + rate, np.float32)
    t = np.arange(rate) / rate
    for begin in range(0, round(seconds * rate), hop):
        hertz = 110 * 2 ** (draw.integers(0, 36) / 12)
        partials = (np.sin(2 * np.pi * n * hertz * t) / n for n in range(1, 7))
        wave[begin : begin + rate] += 0.2 * sum(partials) * np.exp(-3 * t)
    return wave[: round(seconds * rate)]


@pytest.mark.parametrize(
    "codec",
    [
        MuLaw(256, 8000),
        MuLaw(256, 8000, emphasis=0.85),
        MuLaw(256, 22050, channels=2),
        MuLaw(65536, 8000, symbols_per_sample=2),
    ],
    ids=["plain", "emphasis", "stereo", "digits"],
)
def test_a_copy_is_found_with_its_place(codec: MuLaw) -> None:
    rate = codec.sample_rate
    learnt = melody(0, 20, rate)
    index = Index.of(Part.of(codec.encode(learnt), frame=codec.phases), codec)
    copy = 0.5 * learnt[round(11.3 * rate) : round(15.3 * rate)]
    hiss = np.random.default_rng(1).normal(0, copy.std() / 5, len(copy))  # 14 dB below
    made = np.concatenate([melody(2, 2, rate), copy + hiss.astype(np.float32)])
    places = index.places(codec.encode(made), NOTHING)
    known = np.flatnonzero(places >= 0)
    first = 2 * codec.symbol_rate
    assert first - 0.8 * codec.symbol_rate < known[0] < first + 0.5 * codec.symbol_rate
    middle = 4 * codec.symbol_rate
    assert places[middle] / codec.symbol_rate == pytest.approx(13.3, abs=0.05)
    said = index.recital([places])
    assert said is not None
    assert "a copy of the recording" in said.words
    assert "from 0:11 of it on" in said.words


def test_other_notes_silence_and_short_sounds_are_no_copies() -> None:
    codec = MuLaw(256, 8000)
    learnt = melody(0, 20, 8000)
    learnt[8000:40000] = 0
    index = Index.of(Part.of(codec.encode(learnt)), codec)
    for wave in (melody(3, 5, 8000), np.zeros(40000, np.float32)):
        said = index.recital([index.places(codec.encode(wave), NOTHING)])
        assert said == (0, 0, "nothing of this sound is a copy of the recording")
    short = codec.encode(learnt[50000:62000])
    assert index.recital([index.places(short, NOTHING)]) is None
    of_short = Index.of(Part.of(short), codec)
    assert (of_short.places(codec.encode(learnt), NOTHING) < 0).all()


def test_of_a_long_recording_the_beginning_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = MuLaw(256, 8000)
    part = Part.of(codec.encode(etude.render(etude.compose(64), 8000)))
    whole = copied.prints(part, codec)
    begun = copied.prints(part, codec, seconds=5)
    assert len(begun) == (5 * 8000 - 2048) // 128
    same = begun[:-1] == whole[: len(begun) - 1]
    assert same.mean() > 0.5  # the hiss is that of another peak
