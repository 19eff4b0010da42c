"""What a training makes of sound: errors, silence left out, and how much it sounds like it."""

import html
import json
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.config.model import TEMPERATURE
from seqkit.evaluation.likeness import Copied, Distances
from tests.commands.conftest import RATE, TINY
from tests.conftest import Run, summary_of, weights


@pytest.mark.thorough
def test_a_training_has_one_verdict_which_all_say_again(
    learnt: Path, run: Run, tmp_path: Path
) -> None:
    place = tmp_path / "run"
    few = ("train.max_steps=4", "train.validate_every=2", "seconds=5", "model.hidden_size=8")
    words = (*TINY, *few, f"data.path={learnt / 'étude.wav'}", "temperature=null")
    done = run.ok(*words, f"run_dir={place}")
    assert summary_of(place)["temperature"] == TEMPERATURE
    report = (place / "report.html").read_text()
    assert f"<th>temperature</th><td><bdi>{TEMPERATURE}</bdi>" in report
    (said,) = re.findall(r"^the closing sample (.*like the recording.*)$", done.err, re.M)
    assert "band 0." in said
    assert f"what to try: python -m seqkit doctor run_dir={place}\n" in done.err
    assert done.err.count("like the recording") == 1
    kept = summary_of(place)["likeness"]
    assert kept["heard"] == said
    assert list(kept) == ["is_like", "heard", *Distances._fields, *Copied._fields]
    assert html.escape(f"Its last sample {said}.") in (place / "report.html").read_text()
    assert f"Its last sample {said}." in run.json("doctor", f"run_dir={place}")["finding"]
    assert run.json("compare", f"runs={place}")["runs"][0]["likeness"] == kept


@pytest.mark.thorough
def test_noise_is_learnt_from_and_never_validated_on_and_a_run_resumes_with_it(
    learnt: Path, run: Run, tmp_path: Path
) -> None:
    short = ("train.max_steps=6", "train.validate_every=3", "train.deterministic=true")
    steady = ("optimizer.schedule=constant", "model.hidden_size=16")
    words = (*TINY, f"data.path={learnt / 'étude.wav'}", *short, *steady)
    for name, more in (("whole", ()), ("parts", ("train.max_steps=3",)), ("none", ())):
        noise = "train.input_noise=0" if name == "none" else "train.input_noise=0.1"
        run.ok(*words, noise, *more, f"run_dir={tmp_path / name}")
    run.ok(f"run_dir={tmp_path / 'parts'}", "resume=auto", "train.max_steps=6", "device=cpu")
    whole, parts, none = (weights(tmp_path / name) for name in ("whole", "parts", "none"))
    assert all(bool((whole[name] == parts[name]).all()) for name in whole)
    assert not all(bool((whole[name] == none[name]).all()) for name in whole)
    result = run("evaluate", f"checkpoint={tmp_path / 'whole'}", "json=true", "device=cpu")
    summary = summary_of(tmp_path / "whole")
    best = summary["best_validation_loss"]
    assert json.loads(result.out)["loss"] == pytest.approx(best, abs=2e-3)


def test_a_model_that_is_worse_than_guessing_is_told_so_and_why(run: Run, tmp_path: Path) -> None:
    tone = 0.1 * np.sin(2 * np.pi * 250 * np.arange(RATE) / RATE)  # of few levels
    soundfile.write(tmp_path / "tone.wav", tone, RATE)
    words = (*TINY, f"data.path={tmp_path / 'tone.wav'}", "model.hidden_size=16", "seconds=0.1")
    few = run(*words, "train.max_steps=2", "optimizer.lr=1e-9", f"run_dir={tmp_path / 'few'}")
    assert re.search(r"needs 7\..* bits a symbol; guessing by frequency \d\.", few.err), few.err
    assert "give it more steps or more time" in few.err
    assert few.code == 0
