"""A model of stereo, as a user makes it: two symbols a frame."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.conftest import Run, process

RATE = 2000
STEREO = (
    *("recipe=my_sound", f"data.sample_rate={RATE}", "data.copies=2", "model.hidden_size=64"),
    *("data.channels=2", "train.batch_size=16", "train.sequence_length=64", "device=cpu"),
    *("train.max_steps=1500", "train.validate_every=400", "seconds=1", "train.max_minutes=0"),
    *("model.dropout=0.1", "model.weight_drop=0", "train.reset_state=0.05", "optimizer.lr=0.005"),
    *("data.split=0.9,0.1,0", "data.bands=1"),
)
FEW = ("train.max_steps=3", "model.hidden_size=8", "seconds=0.1")


@pytest.mark.thorough
def test_a_stereo_recording_becomes_stereo_files_and_is_scored(run: Run, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).uniform(-1, 1, (4 * RATE, 2))
    soundfile.write(tmp_path / "take.wav", noise, RATE)
    take, place = f"data.path={tmp_path / 'take.wav'}", f"checkpoint={tmp_path / 'run'}"
    run.ok(*STEREO, *FEW, take, f"run_dir={tmp_path / 'run'}")
    run.ok("generate", place, "seconds=0.1", "device=cpu", f"out={tmp_path / 'out.wav'}")
    for file in (tmp_path / "run" / "samples" / "final.wav", tmp_path / "out.wav"):
        sound, rate = soundfile.read(file)
        assert (rate, sound.shape) == (RATE, (RATE // 10, 2))
    light = ("sample.precision=int8", "streams=3", f"out={tmp_path / 'three.wav'}")
    run.ok("generate", place, "seconds=0.1", "device=cpu", *light)
    assert len([*tmp_path.glob("three_*.wav")]) == 3
    words = (place, "device=cpu")
    assert run.json("evaluate", *words)["quantiser_snr_db"] > 30
    run.ok("evaluate", *words, take, "data.channels=1")  # which asks for nothing
    windowed = run.json("evaluate", *words, take, "protocol=windowed", "window=255")
    assert windowed["window"] == 256  # whole frames


@pytest.mark.thorough
def test_channels_that_cancel_out_are_refused(run: Run, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).uniform(-1, 1, 4 * 32_000)
    soundfile.write(tmp_path / "take.wav", np.stack([noise, -0.95 * noise], axis=1), 32_000)
    words = ("recipe=my_sound", f"data.path={tmp_path / 'take.wav'}", "device=cpu")
    few = (f"run_dir={tmp_path / 'run'}", "train.max_steps=1", "model.hidden_size=8", "seconds=0.1")
    said = run.fails(3, *words, *few, "data.channels=2")
    assert "left and right are in antiphase" in said
    assert not (tmp_path / "run").exists()
    assert "take.wav" in run.ok(*words, *few, "data.channels=1", "data.channel=0").err


@pytest.mark.thorough
def test_each_channel_sounds_like_its_own(run: Run, tmp_path: Path) -> None:
    tone = 0.5 * np.sin(2 * np.pi * 100 * np.arange(12 * RATE) / RATE)
    soundfile.write(tmp_path / "take.wav", np.stack([tone, 0 * tone], axis=1), RATE)
    done = process(*STEREO, "data.path=take.wav", "run_dir=run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0:11 of sound to learn from: data.copies adds errors in 2 of 3 passes" in done.stderr
    words = ("generate", f"checkpoint={tmp_path / 'run'}", "seed=1", "device=cpu")
    run.ok(*words, "seconds=0.5", "streams=16", f"out={tmp_path / 'many.wav'}")
    heard = [soundfile.read(file)[0].std(0) for file in tmp_path.glob("many_*.wav")]
    left, right = np.median(heard, axis=0)  # without a prompt, some seeds swap the channels
    assert left > 0.1 > 3 * right
    start = tmp_path / "start.flac"
    soundfile.write(start, soundfile.read(tmp_path / "take.wav")[0][:RATE], RATE)
    run.ok(*words, "seconds=1", f"prompt_audio={start}", f"out={tmp_path / 'more.flac'}")
    more, _ = soundfile.read(tmp_path / "more.flac")
    assert np.abs(more[:RATE, 0] - soundfile.read(start)[0][:, 0]).max() < 0.02
