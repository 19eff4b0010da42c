"""How much samples are like their recording is said where it can be, and found out once."""

import numpy as np

from seqkit.api import comparison
from seqkit.config import DataConfig
from seqkit.data.codecs import Bytes, MuLaw
from seqkit.data.corpus import Part
from seqkit.data.sound import Wave
from seqkit.data.sound.part import SoundPart
from seqkit.evaluation.recording import Recording
from seqkit.stages.conditions import recording_of

CODEC = MuLaw(256, 8000)
NOISE = np.random.default_rng(0).uniform(-0.5, 0.5, 8000).astype(np.float32)


def recording(wave: Wave, trim_silence: float = 0.0) -> Recording:
    """Of samples that a training learns."""
    sound = SoundPart(Part.of(CODEC.encode(wave)), CODEC)
    return recording_of(sound, "name", DataConfig(trim_silence=trim_silence))


def test_a_sample_is_judged_without_its_prompt() -> None:
    learnt = recording(NOISE)
    judge, sample = (
        comparison.judge_of(learnt, CODEC, 4000),
        CODEC.encode(NOISE).astype(np.int64),
    )
    assert judge(sample).startswith("it sounds like the recording (spectrum 0.")
    assert judge(sample[:4100]) == "it is too short to compare with the recording"
    assert comparison.judge_of(None, Bytes(), 0)(sample) == ""


def test_silence_that_is_not_learnt_is_not_compared_with() -> None:
    silent = np.concatenate([NOISE, np.zeros(16000, np.float32), NOISE[:4000]])
    trimmed = recording(silent, trim_silence=40)
    whole = recording(silent)
    assert trimmed.quietest > whole.quietest + 20


def test_of_a_long_recording_stretches_are_compared_with() -> None:
    loud, quiet = np.tile(NOISE, 330), 0.01 * np.tile(NOISE, 330)
    found = recording(np.concatenate([loud, quiet]))
    both = np.concatenate([NOISE, 0.01 * NOISE])
    assert found.measure(both, 8000).loudness < 0.1 < found.measure(NOISE, 8000).loudness
