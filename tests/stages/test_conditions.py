"""What a network reads beside the symbols is found in as much sound as it needs."""

import numpy as np
import pytest

from seqkit.config import Config, DataConfig, ModelConfig
from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Corpus, Part
from seqkit.data.sound import Frames
from seqkit.foundation.plugins import Catalogue
from seqkit.foundation.session import Session
from seqkit.stages.conditions import find_conditions
from seqkit.stages.parts import cut_parts
from seqkit.stages.read_corpus import Reading
from seqkit.stages.sources import Origin
from seqkit.symbols import Symbols

RATE = 1000
CODEC = MuLaw(256, RATE)


def test_a_linear_prediction_is_found_in_the_first_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    wave = 0.5 * np.sin(np.arange(700 * RATE) * 0.7)
    corpus = Corpus(Part.of(CODEC.encode(wave.astype(np.float32))), CODEC, "name", "sha256")
    config = Config(data=DataConfig(split=[1.0, 0.0, 0.0]), seed=1)
    reading = Reading(config, corpus, Origin(None, resumes=False))
    model = ModelConfig(vocabulary_size=256, lookback=2)
    sizes, decode = list[int](), CODEC.frames

    def counted(symbols: Symbols) -> Frames:
        sizes.append(len(symbols))
        return decode(symbols)

    monkeypatch.setattr(CODEC, "frames", counted)
    session = Session(Catalogue(), lambda text: None)
    found = find_conditions(reading, cut_parts(reading, session.notice), model, session)
    assert max(sizes) <= 600 * RATE
    assert found.predictor is not None
    # x(t) = 2 cos(w) x(t - 1) - x(t - 2) of a wave without noise
    assert found.predictor.weights[0].tolist() == pytest.approx([-1, 2 * np.cos(0.7)], abs=0.05)
