"""What is told of recordings is true of them."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.advice import sound
from seqkit.advice.sound import levels_of
from seqkit.config import DataConfig
from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Part
from seqkit.data.load import load_corpus
from seqkit.data.sound import Wave
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session

RATE = 8000
NOISE = np.random.default_rng(0).uniform(-0.5, 0.5, 12 * RATE).astype(np.float32)


def leave(path: Path, wave: Wave, rate: int = RATE) -> Path:
    soundfile.write(path, wave, rate, "FLOAT")
    return path


@pytest.mark.parametrize(
    ("wave", "said"),
    [
        (NOISE, ""),
        (NOISE[:RATE], "the sound is short, 1.0 s: 10 s is the least"),
        (0.02 * NOISE, "the sound is quiet, -40 dB of full scale"),
        (np.append(NOISE, np.zeros(3 * len(NOISE))), "74% of the sound is silence"),
        (0.2 * NOISE + 0.3, "a constant offset (DC) of 0.3"),
        (np.full(len(NOISE), 0.3), "the sound is a constant, 0.3"),
    ],
)
def test_the_faults_that_a_training_tells(wave: Wave, said: str, tmp_path: Path) -> None:
    data = DataConfig(path=[str(leave(tmp_path / "a.wav", wave))])
    corpus = load_corpus(data, Session(Catalogue(), lambda text: None))
    assert isinstance(corpus.codec, MuLaw)
    faults = sound.faults_of(corpus.whole, corpus.codec, data)
    assert len(faults) == bool(said)
    assert said in "".join(map(str, faults))
    data.trim_silence = 40  # which cures silence
    cured = sound.faults_of(corpus.whole, corpus.codec, data)
    assert cured == (faults if "silence" not in said else [])


def test_a_gain_mends_what_is_quiet() -> None:
    levels, codec = levels_of(0.02 * NOISE, RATE), MuLaw(256, RATE, 100.0)
    part = Part.of(codec.encode(0.02 * NOISE))
    assert not sound.faults_of(part, codec, DataConfig(), levels)


def test_silence_is_what_lies_far_below_the_rest_whatever_its_offset() -> None:
    noise = np.random.default_rng(0).normal(0, 1, 8000).astype(np.float32)
    for rest, silence in ((1e-4 * noise, 0.35), (0.01 * noise, 0)):  # 0.3 s of a pause are kept
        found = levels_of(np.append(0.1 * noise, rest) + np.float32(0.2), RATE).silence
        assert found == pytest.approx(silence)
