"""What a network reads beside the symbols is found in as much sound as it needs."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

import seqkit
from seqkit.config import Config, DataConfig, ModelConfig
from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Corpus, Part
from seqkit.data.heard import source_of
from seqkit.data.sound import Wave
from seqkit.evaluation.recording import Recording
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session
from seqkit.stages.conditions import find_conditions, recording_of
from seqkit.stages.data import TrainingData
from tests.conftest import saved

CODEC = MuLaw(256, 8000)
NOISE = np.random.default_rng(0).uniform(-0.5, 0.5, 8000).astype(np.float32)


def recording(wave: Wave, folder: Path, trim_silence: float = 0.0) -> Recording:
    """Of samples that a training learns."""
    soundfile.write(folder / "a.wav", wave, 8000, "FLOAT")
    data = DataConfig(path=[str(folder / "a.wav")], trim_silence=trim_silence)
    return recording_of(source_of(data, Session(Catalogue(), lambda text: None)), 8000)


@pytest.mark.thorough
def test_a_linear_prediction_is_found_in_the_first_minutes(tmp_path: Path) -> None:
    codec = MuLaw(256, 1000)
    wave = 0.5 * np.sin(np.arange(700 * 1000) * 0.7)
    soundfile.write(tmp_path / "a.wav", wave, 1000)
    corpus = Corpus(Part.of(codec.encode(wave.astype(np.float32))), codec, "name", "sha256")
    own = DataConfig(path=[str(tmp_path / "a.wav")], split=[1.0, 0.0, 0.0])
    config = Config(data=own, seed=1)
    part, validation, _ = corpus.split(config.data.split)
    data = TrainingData(config, config.data, corpus, part, validation, part)
    model = ModelConfig(vocabulary_size=256, lookback=2)
    session = Session(Catalogue(), lambda text: None)
    found = find_conditions(data, model, session)
    assert found.predictor is not None
    # x(t) = 2 cos(w) x(t - 1) - x(t - 2) of a wave without noise
    assert found.predictor.weights[0].tolist() == pytest.approx([-1, 2 * np.cos(0.7)], abs=0.05)


def test_silence_that_is_not_learnt_is_not_compared_with(tmp_path: Path) -> None:
    silent = np.concatenate([NOISE, np.zeros(16000, np.float32), NOISE[:4000]])
    trimmed = recording(silent, tmp_path, trim_silence=40)
    whole = recording(silent, tmp_path)
    assert np.median(trimmed.heard.level) > np.median(whole.heard.level) + 20


@pytest.mark.thorough
def test_of_a_long_recording_the_first_minutes_are_compared_with(tmp_path: Path) -> None:
    loud, quiet = np.tile(NOISE, 600), 0.01 * np.tile(NOISE, 30)
    found = recording(np.concatenate([loud, quiet]), tmp_path)
    both = recording(np.concatenate([NOISE, quiet]), tmp_path)
    assert found.heard.level[0] > both.heard.level[0] + 20


@pytest.mark.thorough
def test_a_recording_is_compared_with_as_it_was_before_it_was_quantised(tmp_path: Path) -> None:
    time = np.arange(3 * 8000) / 8000
    wave = 0.5 * np.sin(2 * np.pi * 440 * time) * np.exp(-time)
    soundfile.write(tmp_path / "a.wav", wave, 8000, subtype="PCM_16")
    keys = [f"data.path={tmp_path / 'a.wav'}", "data.levels=16", "train.max_steps=1"]
    seqkit.train("wav_generation", *keys, "model.hidden_size=8", f"run_dir={tmp_path / 'run'}")
    kept = saved(tmp_path / "run").recording
    assert kept is not None
    assert max(kept.measure(wave.astype(np.float32), 8000).known.values()) < 0.01
