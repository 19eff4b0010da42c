"""How much samples are like their recording is said where it can be, and found out once."""

import numpy as np
import pytest

from seqkit.api import spectral_comparison
from seqkit.data.codecs import Bytes, MuLaw
from seqkit.data.corpus import Corpus, Part
from seqkit.data.sound import Wave
from seqkit.evaluation.spectral import Recording

CODEC = MuLaw(256, 8000)
NOISE = np.random.default_rng(0).uniform(-0.5, 0.5, 8000).astype(np.float32)


def corpus(wave: Wave) -> Corpus:
    return Corpus(Part.of(CODEC.encode(wave)), CODEC, "name", "0" * 64)


def test_a_sample_is_judged_without_its_prompt() -> None:
    judge, sample = (
        spectral_comparison.judge_of(corpus(NOISE), 4000),
        CODEC.encode(NOISE).astype(np.int64),
    )
    assert judge(sample).startswith("spectral measure ")
    assert judge(sample[:4100]) == ""  # too short
    text = Corpus(Part.of(np.zeros(9, np.uint8)), Bytes(), "name", "0" * 64)
    assert spectral_comparison.judge_of(text, 0)(sample) == ""


@pytest.mark.parametrize("length", [1000, 8000])
def test_the_recording_is_made_once_even_where_that_fails(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(corpus: Corpus) -> Recording:
        made.append(corpus.name)
        return original(corpus)

    original = spectral_comparison.recording_of
    monkeypatch.setattr(spectral_comparison, "recording_of", counted)
    judge = spectral_comparison.judge_of(corpus(NOISE[:length]), 0)
    for _ in range(3):
        assert bool(judge(CODEC.encode(NOISE).astype(np.int64))) == (length == 8000)
    assert made == ["name"]
