"""The postfilter of a run: chosen by its closing sample, kept, and in all that is made of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

import seqkit
from seqkit.api import run_files
from seqkit.compose import compose_training
from seqkit.config import SampleConfig
from seqkit.data.sound import Frames
from seqkit.data.sound.postfilter import OFF, Postfilter
from seqkit.evaluation.recording import Recording
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session
from seqkit.runs import checkpoint
from seqkit.stages.training import set_up
from seqkit.symbols import Floats
from tests.commands.conftest import RATE, TINY
from tests.conftest import Run, saved, summary_of

pytestmark = pytest.mark.thorough

USUAL = Postfilter(2.0, 6.0, louder=-2.0)


def heard(file: Path) -> Floats:
    wave: Floats = soundfile.read(file, dtype="float32")[0]
    return wave


def filtered(wave: Floats) -> Frames:
    return USUAL.filtered(wave[:, None].astype(np.float32), RATE)[:, 0]


@pytest.fixture(scope="module")
def hushed(learnt: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with a postfilter."""
    file = tmp_path_factory.mktemp("hushed") / "hushed.safetensors"
    found = saved(learnt / "run", "best")
    found.postfilter = USUAL
    found.save(file)
    return file


def test_what_is_made_goes_through_it_wherever_it_comes_out(
    hushed: Path, run: Run, tmp_path: Path
) -> None:
    words = ["generate", f"checkpoint={hushed}", "seconds=1.5", "seed=1"]
    run.ok(*words, "sample.postfilter=false", f"out={tmp_path / 'plain.wav'}")
    told = run.ok(*words, f"out={tmp_path / 'made.wav'}").err
    plain, made = heard(tmp_path / "plain.wav"), heard(tmp_path / "made.wav")
    assert len(made) == len(plain) == 1.5 * RATE
    np.testing.assert_allclose(made, filtered(plain), atol=1e-4)  # 16 bits
    assert np.abs(made - plain).max() > 0.01
    streamed = np.frombuffer(run.ok(*words, "out=-").out[44:], "<i2")
    assert np.array_equal(streamed, soundfile.read(tmp_path / "made.wav", dtype="int16")[0])
    judged = saved_recording(hushed).judged(made, RATE).distances
    assert judged is not None
    for name, value in judged.known.items():  # what is said is of what is heard
        assert f"{name} {value:.2f}" in told or f"{name} {value + 0.01:.2f}" in told
    model = seqkit.load(hushed)
    keys: Any = {"seconds": 1.5, "seed": 1}
    whole = model.generate(**keys)
    np.testing.assert_allclose(whole, made, atol=1e-4)
    assert np.array_equal(np.concatenate([*model.stream(**keys)]), whole)
    without = model.generate(**keys, sample=SampleConfig(postfilter=False))
    np.testing.assert_allclose(without, plain, atol=1e-4)


def saved_recording(file: Path) -> Recording:
    found = checkpoint.load(file, Catalogue()).recording
    assert found is not None
    return found


@pytest.mark.thorough
def test_a_training_chooses_keeps_and_tells_it(
    learnt: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Frames] = []

    def choose(recording: Recording, frames: Frames, rate: int) -> tuple[Postfilter, str]:
        seen.append(frames)
        return (OFF, "") if len(seen) > 1 else (USUAL, "it hisses")

    monkeypatch.setattr(run_files, "choose", choose)
    folder = tmp_path / "run"
    words = (*TINY, f"data.path={learnt / 'étude.wav'}", "train.validate_every=10", "seed=3")
    made = run.ok(*words, f"run_dir={folder}", "train.max_steps=20")
    assert "\nit hisses\nthe closing sample " in made.err
    assert seen[0].shape == (RATE, 1)
    final = heard(folder / "samples" / "final.wav")
    np.testing.assert_allclose(final, filtered(seen[0][:, 0]), atol=1e-4)
    likeness, recording = summary_of(folder)["likeness"], saved(folder).recording
    assert recording is not None
    found = recording.measure(final, RATE)
    assert likeness["contrast"] == pytest.approx(found.contrast, abs=0.01)
    for name in ("best", "last"):
        assert saved(folder, name).postfilter == USUAL
    assert saved(folder).training is not None
    inspected = run.ok("inspect", f"checkpoint={folder}", "json=true").out
    assert json.loads(inspected)["postfilter"] == {
        **{"slope": 2.0, "onset": 6.0, "reach": 16, "louder": -2.0}
    }
    # A run that goes on has it until its next closing sample, one that starts from it has none.
    for given, expected in (
        ((f"run_dir={folder}", "resume=auto", "train.max_steps=30"), USUAL),
        ((*words, f"init_from={folder}", f"run_dir={tmp_path / 'other'}"), OFF),
    ):
        config = compose_training([*given], [])
        with set_up(config, Session(Catalogue(), print)) as training:
            assert training is not None
            assert training.checkpoint().postfilter == training.best().postfilter == expected
    run.ok(f"run_dir={folder}", "resume=auto", "train.max_steps=30")
    assert len(seen) == 2
    for name in ("best", "last"):
        assert saved(folder, name).postfilter == OFF
    more = (f"run_dir={folder}", "resume=auto", "train.max_steps=31", "sample.postfilter=false")
    run.ok(*more)
    assert len(seen) == 2
