"""A run of sound is judged by whether its last sample is like its recording."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from safetensors.numpy import save_file

from seqkit.advice.diagnosis import judge_last_sample, record_of
from seqkit.advice.verdict import judge
from seqkit.evaluation.likeness import Distances
from seqkit.evaluation.recording import Judgement, Recording
from seqkit.runs.record import read
from seqkit.symbols import Floats
from tests.advice.conftest import Leave

RATE = 8000
TIME = np.arange(5 * RATE) / RATE
TONE = 0.4 * np.sin(2 * np.pi * 300 * TIME) * (1 + np.sin(2 * np.pi * 3 * TIME)) / 2
NOISE = np.random.default_rng(0).uniform(-0.4, 0.4, 5 * RATE)


@pytest.fixture
def left(leave: Leave) -> Callable[[Floats, Floats], Path]:
    """A run of sound: what its checkpoint keeps of its data, and its last sample."""

    def call(data: Floats, sample: Floats) -> Path:
        run = leave(np.linspace(4.0, 3.0, 50), [3.9, 3.2, 3.0], data={"kind": "audio"})
        kept = Recording.of(data.astype(np.float32), RATE).tensors()
        named = {f"recording.{name}": values for name, values in kept.items()}
        (run / "checkpoints").mkdir(exist_ok=True)
        save_file(named, run / "checkpoints" / "best.safetensors")
        soundfile.write(run / "samples" / "final.wav", sample, RATE)
        return run

    return call


@pytest.mark.parametrize(
    ("data", "sample", "told"),
    [
        (TONE, 0.001 * TONE, "does not sound like the recording: it is quieter"),
        (TONE, TONE[::-1].copy(), "sounds like the recording (spectrum 0.0"),
        (TONE, NOISE, "does not sound like the recording: its timbre is another, it lacks"),
        (NOISE, NOISE[::-1].copy(), "sounds like the recording"),
        (0.1 * TONE, 0.1 * TONE, "sounds like the recording"),
    ],
)
def test_a_sample_is_compared_with_the_recording(
    data: Floats, sample: Floats, told: str, left: Callable[[Floats, Floats], Path]
) -> None:
    record = read(left(data, sample))
    judgement = judge_last_sample(record)
    assert judgement is not None
    assert judgement.words.startswith(told)
    assert judgement.is_like == told.startswith("sounds")
    finding = judge(record).finding
    assert f"Its last sample {told}" in finding
    assert ("It learned" in finding) == told.startswith("sounds")


def test_without_what_is_kept_of_the_recording_nothing_is_said(
    left: Callable[[Floats, Floats], Path],
) -> None:
    run = left(TONE, NOISE)
    for damaged in (b"", b"no checkpoint"):
        (run / "checkpoints" / "best.safetensors").write_bytes(damaged)
        assert judge_last_sample(read(run)) is None
    (run / "checkpoints" / "best.safetensors").unlink()
    assert "Its last sample" not in judge(read(run)).finding


def test_what_the_training_said_of_its_closing_sample_is_said_again(
    left: Callable[[Floats, Floats], Path],
) -> None:
    run = left(TONE, NOISE)
    found = judge_last_sample(read(run))
    assert found is not None and found.is_like is False
    words = "sounds like the recording (spectrum 0.01 ≤ 0.10)"
    said = Judgement(True, words, Distances(1, 2, 3, 4))
    kept = {"steps": 1000, "likeness": record_of(said)}
    (run / "summary.json").write_text(json.dumps(kept))
    again = judge_last_sample(read(run))
    assert again is not None
    assert again[:2] == said[:2]
    assert record_of(again) == record_of(said)
    assert f"Its last sample {words}." in judge(read(run)).finding
    for damaged in (3, {"heard": 3}, {}, "", None):
        (run / "summary.json").write_text(json.dumps({"steps": 1000, "likeness": damaged}))
        assert judge_last_sample(read(run)) == found


def test_of_a_short_sample_no_verdict_is_given(left: Callable[[Floats, Floats], Path]) -> None:
    finding = judge(read(left(TONE, NOISE[:RATE]))).finding
    assert "It learned" in finding
    assert "Its last sample is too short for a verdict, which needs 5 s of sound; it " in finding
