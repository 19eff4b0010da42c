"""What a training leaves out of sound is told if it can be measured."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.config import Config, DataConfig, TrainConfig
from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Corpus, Part
from seqkit.data.load import load_corpus
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session
from seqkit.stages.parts import cut_parts
from seqkit.stages.read_corpus import Reading
from seqkit.stages.sources import Origin


@pytest.mark.parametrize(("quiet", "told"), [(0.02, ""), (0.2, "0.2 s of silence left out (")])
def test_silence_too_short_to_be_measured_is_not_told_about(
    quiet: float, told: str, tmp_path: Path
) -> None:
    wave = np.random.default_rng(0).uniform(-0.5, 0.5, 4000)
    wave[: round(8000 * quiet)] = 0
    soundfile.write(tmp_path / "a.wav", wave, 8000)
    data = DataConfig(path=[str(tmp_path / "a.wav")], trim_silence=40, split=[1.0, 0.0, 0.0])
    corpus = load_corpus(data, Session(Catalogue(), lambda text: None))
    notices: list[str] = []
    config = Config(data=data, train=TrainConfig(sequence_length=16))
    reading = Reading(config, corpus, Origin(None, resumes=False), config.data)
    assert len(cut_parts(reading, notices.append).training) < len(corpus.whole)
    assert [notice.partition(": ")[2][: len(told)] for notice in notices] == [told] * bool(told)


def test_what_was_chosen_for_the_bands_of_a_recording_is_told(tmp_path: Path) -> None:
    wave = np.cumsum(np.random.default_rng(0).uniform(-0.01, 0.01, 16000))
    soundfile.write(tmp_path / "a.wav", 0.5 * wave / np.abs(wave).max(), 8000)
    data = DataConfig(path=[str(tmp_path / "a.wav")], split=[1.0, 0.0, 0.0])
    data = dataclasses.replace(data, gain="peak", emphasis="auto", bands="2")
    corpus = load_corpus(data, Session(Catalogue(), lambda text: None))
    notices: list[str] = []
    config = Config(data=data, train=TrainConfig(sequence_length=16))
    cut_parts(Reading(config, corpus, Origin(None, resumes=False), config.data), notices.append)
    (told,) = notices
    spec = corpus.codec.to_spec()
    assert all(spec["band_gains"])
    words = ", ".join(f"{share:g}" for share in spec["band_emphases"])
    assert told.startswith(f"codec: 2 bands of 2000 Hz, emphasis {words} (data.emphasis)")
    assert f"{corpus.snr:.0f} dB" in told


def test_validation_sound_is_its_own_where_a_test_part_stands_before_it() -> None:
    codec, wave = MuLaw(256, 1000), np.random.default_rng(0).uniform(-0.5, 0.5, 1000)
    faint = np.where(np.arange(1000) < 200, 1e-3, 1) * wave
    loud, faint_first = (codec.encode(each.astype(np.float32)) for each in (wave, faint))
    whole = Part.of(*[loud] * 9, faint_first)
    corpus = Corpus(whole, codec, "name", "sha256", validation_start=9000)
    data = DataConfig(trim_silence=40, split=[0.8, 0.1, 0.1])
    config = Config(data=data, train=TrainConfig(sequence_length=16))
    reading = Reading(config, corpus, Origin(None, resumes=False), config.data)
    parts = cut_parts(reading, lambda text: None)
    assert np.array_equal(parts.validation.symbols, faint_first[200:])
    assert len(parts.unabridged) == 8000
