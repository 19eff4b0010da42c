"""How much samples are like their recording is said where it can be, and found out once."""

import numpy as np

from seqkit.api import comparison
from seqkit.data.codecs import Bytes, MuLaw
from seqkit.data.corpus import Corpus, Part
from seqkit.data.sound import Wave

CODEC = MuLaw(256, 8000)
NOISE = np.random.default_rng(0).uniform(-0.5, 0.5, 8000).astype(np.float32)


def corpus(wave: Wave) -> Corpus:
    return Corpus(Part.of(CODEC.encode(wave)), CODEC, "name", "0" * 64)


def test_a_sample_is_judged_without_its_prompt() -> None:
    judge, sample = (
        comparison.judge_of(corpus(NOISE), 4000),
        CODEC.encode(NOISE).astype(np.int64),
    )
    assert judge(sample).startswith("it sounds like the recording (spectrum 0.")
    assert judge(sample[:4100]) == ""  # too short
    text = Corpus(Part.of(np.zeros(9, np.uint8)), Bytes(), "name", "0" * 64)
    assert comparison.judge_of(text, 0)(sample) == ""
