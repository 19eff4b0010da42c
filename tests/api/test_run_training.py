"""What is said of a training: how much its samples are like, and whether its minutes suffice."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from seqkit.api.run_training import _Forecast, judge_of
from seqkit.data.codecs import Bytes, MuLaw
from seqkit.evaluation.recording import Recording
from seqkit.training.events import Trained

CODEC = MuLaw(256, 8000)
NOISE = np.random.default_rng(0).uniform(-0.5, 0.5, 48_000).astype(np.float32)


def test_a_sample_is_judged_without_its_prompt() -> None:
    learnt = Recording.of(CODEC.decode(CODEC.encode(NOISE)), 8000)
    judge, sample = judge_of(learnt, CODEC, 8000), CODEC.encode(NOISE).astype(np.int64)
    sample[:8000] = CODEC.start
    assert judge(sample).startswith("it sounds like the recording (spectrum 0.")
    assert judge(sample[:30_000]).startswith(
        "it is too short for a verdict, which needs 5 s of sound; it differs from the recording by "
    )
    assert judge(sample[:8100]) == "it is too short to compare with the recording"
    assert judge_of(None, Bytes(), 0)(sample) == ""


def test_minutes_that_are_too_few_are_told_once() -> None:
    def told(minutes: float, total_steps: int, enough: float | None = 6e6) -> list[str]:
        train = SimpleNamespace(max_minutes=minutes, max_steps=None)
        training: Any = SimpleNamespace(config=SimpleNamespace(train=train), enough=enough)
        said: list[str] = []
        forecast = _Forecast(training, said.append)
        for step in (1, 100, 200):
            forecast(Trained(step, 1000 * step, 1.0, 2.0, 1e3, 0.01, 1.0, total_steps))
        return said

    assert told(8, 12_000) == told(1, 3000, enough=None) == []
    assert told(1, 3000) == [
        "in 1 minute this machine will read about 3 million symbols; what it makes may not sound "
        "like the recording before it has read 6 million: give train.max_minutes=2 or more"
    ]
    assert told(1.5, 3000)[0].startswith("in 1.5 minutes this machine ")
