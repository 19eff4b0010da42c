"""What is told of the data that a training learns from."""

from pathlib import Path

import numpy as np
import soundfile

from seqkit.api import training_data
from seqkit.config import Config, DataConfig
from seqkit.console import unseen
from seqkit.data.load import load_corpus
from seqkit.plugins import Catalogue


def test_one_copy_is_no_copies(tmp_path: Path) -> None:
    wave = np.random.default_rng(0).uniform(-0.5, 0.5, 4000)
    soundfile.write(tmp_path / "a.wav", wave, 8000)
    config = Config(data=DataConfig(path=[str(tmp_path / "a.wav")], copies=1))
    corpus = load_corpus(config.data, catalogue=Catalogue(), notice=lambda text: None)
    told: list[str] = []
    training_data.of_sound(corpus.whole, corpus, config, told.append, unseen)
    assert "of sound to learn from: 1 copy beside it, up to 3 semitones" in told[0]
