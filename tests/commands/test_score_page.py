"""What `score` keeps while it goes through a long recording."""

import numpy as np

from seqkit.commands.score_page import ScoredSound
from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Part
from seqkit.evaluation.surprise import Stretch


def test_of_a_long_sound_only_the_excerpts_are_kept() -> None:
    rng = np.random.default_rng(1)
    symbols = rng.integers(0, 256, 100_000).astype(np.uint8)
    scored = ScoredSound(Part.of(symbols), MuLaw(256, 1000, 1.0))
    none = np.zeros((len(symbols), 0))
    nats = rng.exponential(1, len(symbols))
    scored.add(Stretch(0, nats, none.astype(np.int64), none, np.zeros(0)))
    waves = [peak.kept.wave for peak in scored._peaks.highest]
    assert len(waves) == 8
    assert all(wave.base is None and len(wave) <= 1000 for wave in waves)
