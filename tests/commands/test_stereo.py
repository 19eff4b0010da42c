"""A model of stereo, as a user makes it."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.conftest import Run

RATE = 4000
STEREO = ("recipe=my_sound", "train.max_minutes=0", "device=cpu")
FEW = ("train.max_steps=3", "train.sequence_length=64", "model.hidden_size=8", "seconds=0.5")


@pytest.mark.thorough
def test_a_stereo_recording_becomes_stereo_files_and_is_scored(run: Run, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).uniform(-1, 1, (4 * RATE, 2))
    soundfile.write(tmp_path / "take.wav", noise, RATE)
    take, place = f"data.path={tmp_path / 'take.wav'}", f"checkpoint={tmp_path / 'run'}"
    run.ok(*STEREO, *FEW, "data.split=0.8,0.2,0", take, f"run_dir={tmp_path / 'run'}")
    run.ok("generate", place, "seconds=0.5", "device=cpu", f"out={tmp_path / 'out.wav'}")
    for file in (tmp_path / "run" / "samples" / "final.wav", tmp_path / "out.wav"):
        sound, rate = soundfile.read(file)
        assert rate == RATE and sound.shape[1] == 2
        assert 0 <= len(sound) - RATE // 2 < 64  # the rest of a frame
    light = ("sample.precision=int8", "streams=3", f"out={tmp_path / 'three.wav'}")
    run.ok("generate", place, "seconds=0.5", "device=cpu", *light)
    assert len([*tmp_path.glob("three_*.wav")]) == 3
    words = (place, "device=cpu")
    run.ok("evaluate", *words)
    said = run.fails(2, "evaluate", *words, take, "data.channels=1")
    assert "data.channels=1, of the recipe or the command line: the checkpoint has 2: give " in said
    windowed = run.json("evaluate", *words, take, "protocol=windowed", "window=255")
    assert windowed["window"] == 256  # whole frames


@pytest.mark.thorough
def test_channels_that_cancel_out_stay_opposed(run: Run, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).uniform(-1, 1, 4 * RATE)
    soundfile.write(tmp_path / "take.wav", np.stack([noise, -0.95 * noise], axis=1), RATE)
    words = (*STEREO, *FEW, f"data.path={tmp_path / 'take.wav'}", f"run_dir={tmp_path / 'run'}")
    run.ok(*words)
    sound, _ = soundfile.read(tmp_path / "run" / "samples" / "final.wav")
    assert sound.sum(1).std() < 0.3 * sound.std()


@pytest.mark.parametrize("words", [(), ("data.channels=1",)], ids=["a channel twice", "asked for"])
def test_what_has_one_channel_is_made_in_one(
    words: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    noise = np.random.default_rng(0).uniform(-1, 1, (4 * RATE, 2))
    if not words:
        noise[:, 1] = noise[:, 0]
    soundfile.write(tmp_path / "take.wav", noise, RATE)
    take, place = f"data.path={tmp_path / 'take.wav'}", f"run_dir={tmp_path / 'run'}"
    run.ok(*STEREO, *FEW, *words, take, place)
    assert soundfile.info(tmp_path / "run" / "samples" / "final.wav").channels == 1
