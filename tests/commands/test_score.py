"""`score` as a user runs it: lines of JSON."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.evaluation import streaming
from seqkit.evaluation.scoring import CHUNK
from tests.conftest import SMALL, Run


def score(run: Run, *words: object) -> list[dict[str, object]]:
    """The lines that a command line prints."""
    made = run.ok("score", *map(str, words), "device=cpu")
    return [json.loads(line) for line in made.out.splitlines()]


def test_a_line_for_each_symbol_adds_up_to_the_evaluation(
    run: Run, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = score(run, f"checkpoint={trained}")
    evaluated = run.json("evaluate", f"checkpoint={trained}")
    assert len(lines) == evaluated["symbols"]
    mean = sum(float(str(line["nats"])) for line in lines) / len(lines)
    assert mean == pytest.approx(evaluated["loss"], abs=1e-4)
    text = (trained.parent / "text.txt").read_text()
    assert "".join(str(line["symbol"]) for line in lines) == text[-len(lines) :]
    assert [line["offset"] for line in lines] == [*range(len(lines))]
    assert {line["document"] for line in lines} == {1}
    # Of another number of stretches the same comes out, and always the same.
    assert score(run, f"checkpoint={trained}") == lines
    monkeypatch.setattr(streaming, "_STRETCH", CHUNK)
    assert score(run, f"checkpoint={trained}") == lines


def test_sound_has_lines(run: Run, tmp_path: Path) -> None:
    wave = 0.3 * np.sin(2 * np.pi * 200 * np.arange(12_000) / 4000)
    soundfile.write(tmp_path / "tone.wav", wave, 4000)
    words = ["recipe=wav_generation", f"data.path={tmp_path / 'tone.wav'}", *SMALL]
    words += ["data.sample_rate=4000", "train.max_steps=2"]
    run.ok(*words, f"run_dir={tmp_path / 'run'}")
    given = (f"checkpoint={tmp_path / 'run'}", f"data.path={tmp_path / 'tone.wav'}")
    lines = score(run, *given)
    assert len(lines) == 12_000
    assert {type(line["symbol"]) for line in lines} == {int}
