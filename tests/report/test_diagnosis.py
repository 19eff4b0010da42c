"""Silence and noise are told from sound."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.report.diagnosis import heard
from seqkit.report.verdict import judge
from seqkit.runs.record import read
from seqkit.symbols import Floats
from tests.report.conftest import Leave

RATE = 8000
TIME = np.arange(2 * RATE) / RATE
TONE = 0.4 * np.sin(2 * np.pi * 300 * TIME) * (1 + np.sin(2 * np.pi * 3 * TIME)) / 2
NOISE = np.random.default_rng(0).uniform(-0.4, 0.4, 2 * RATE)


@pytest.fixture
def left(leave: Leave) -> Callable[[Floats, Floats], Path]:
    """A run of sound: its data, and its last sample."""

    def call(data: Floats, sample: Floats) -> Path:
        run = leave(np.linspace(4.0, 3.0, 50), [3.9, 3.2, 3.0], data={"kind": "audio"})
        soundfile.write(run / "samples" / "data.wav", data, RATE)
        soundfile.write(run / "samples" / "final.wav", sample, RATE)
        return run

    return call


@pytest.mark.parametrize(
    ("data", "sample", "fault"),
    [
        (TONE, 0.001 * TONE, "silence"),
        (TONE, TONE[::-1].copy(), None),
        (TONE, NOISE, "noise"),
        (NOISE, NOISE[::-1].copy(), None),
        (0.001 * TONE, 0.001 * TONE, None),
    ],
)
def test_a_sample_is_compared_with_the_data(
    data: Floats, sample: Floats, fault: str | None, left: Callable[[Floats, Floats], Path]
) -> None:
    record = read(left(data, sample))
    assert heard(record) == fault
    assert (f"Its last sample is {fault}" in judge(record).finding) == (fault is not None)
