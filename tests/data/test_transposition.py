"""Copies are in other keys, have rests, and stand behind the recording, labelled like it."""

import dataclasses

import numpy as np
import pytest

from seqkit.data import transposition
from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Part
from seqkit.data.sound.part import SoundPart
from seqkit.data.sound.pitch import melody_of

RATE = 8000


@pytest.mark.parametrize("channels", [1, 2])
def test_a_recording_comes_in_all_keys(channels: int) -> None:
    codec = MuLaw(256, RATE, channels=channels)
    wave = 0.5 * np.cos(2 * np.pi * 220 * np.arange(2 * RATE) / RATE)
    symbols = codec.encode(wave.astype(np.float32))
    half = len(symbols) // 2
    part = Part.of(symbols[:half], symbols[half:], frame=channels)
    part = dataclasses.replace(part, labels=np.array([[1], [2]]))
    sound = SoundPart(part, codec)
    found = transposition.with_copies(sound, 1).part
    assert np.array_equal(found.symbols[: len(part)], part.symbols[:])
    assert (found.starts % channels == 0).all()
    documents = np.split(found.symbols[:], found.starts[2::2])
    assert found.labels is not None
    assert found.labels.tolist() == [[1], [2]] * len(documents)
    assert np.diff(found.starts)[::2] == pytest.approx([len(one) / 2 for one in documents], abs=2)
    notes, rests = [], []
    for document in documents:
        melody = melody_of(codec.frames(document).mean(1), RATE)[5:-5]
        sounding = melody[:, 0] > 0
        notes.append(round(float(np.median(melody[sounding, 0]))) - 57)
        rests.append(float(1 - sounding.mean()))
    assert sorted(notes) == [*range(-9, 10)]
    assert rests[0] == 0
    assert 0.1 < np.mean(rests) < 0.3
    again, other = (transposition.with_copies(sound, seed).part for seed in (1, 2))
    assert np.array_equal(again.symbols, found.symbols)
    assert not np.array_equal(other.symbols, found.symbols)
