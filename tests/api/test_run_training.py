"""How much samples are like their recording is said where it can be."""

import numpy as np

from seqkit.api.run_training import judge_of
from seqkit.data.codecs import Bytes, MuLaw
from seqkit.evaluation.recording import Recording

CODEC = MuLaw(256, 8000)
NOISE = np.random.default_rng(0).uniform(-0.5, 0.5, 48_000).astype(np.float32)


def test_a_sample_is_judged_without_its_prompt() -> None:
    learnt = Recording.of(CODEC.decode(CODEC.encode(NOISE)), 8000)
    judge, sample = judge_of(learnt, CODEC, 8000), CODEC.encode(NOISE).astype(np.int64)
    sample[:8000] = CODEC.start
    assert judge(sample).startswith("it sounds like the recording (spectrum 0.")
    assert judge(sample[:30_000]).startswith("it differs from the recording by spectrum 0.")
    assert judge(sample[:8100]) == "it is too short to compare with the recording"
    assert judge_of(None, Bytes(), 0)(sample) == ""
