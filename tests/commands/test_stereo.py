"""A model of stereo at 16 bits, as a user makes it: four symbols a frame."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.conftest import Run, process

RATE = 2000
STEREO = (
    *("recipe=my_sound", f"data.sample_rate={RATE}", "data.copies=2", "model.hidden_size=64"),
    *("data.channels=2", "data.symbols_per_sample=2", "data.levels=65536"),
    *("train.batch_size=16", "train.sequence_length=64", "optimizer.lr=0.005", "device=cpu"),
    *("train.max_steps=3000", "train.validate_every=400", "seconds=1", "train.max_minutes=0"),
    *("model.dropout=0.1", "model.weight_drop=0", "train.reset_state=0.05"),
    "data.split=0.9,0.1,0",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with take.wav, a tone to the left and nothing to the right, and the run on it."""
    folder = tmp_path_factory.mktemp("stereo")
    tone = 0.5 * np.sin(2 * np.pi * 100 * np.arange(12 * RATE) / RATE)
    soundfile.write(folder / "take.wav", np.stack([tone, 0 * tone], axis=1), RATE)
    done = process(*STEREO, "data.path=take.wav", "run_dir=run", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "0:11 of sound to learn from: data.copies adds errors in 2 of 3 passes" in done.stderr
    return folder


def test_a_stereo_recording_becomes_stereo_files(run: Run, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).uniform(-1, 1, (4 * RATE, 2))
    soundfile.write(tmp_path / "take.wav", noise, RATE)
    few = ("train.max_steps=3", "model.hidden_size=8", "seconds=0.1")
    run.ok(*STEREO, *few, f"data.path={tmp_path / 'take.wav'}", f"run_dir={tmp_path / 'run'}")
    words = ("generate", f"checkpoint={tmp_path / 'run'}", "seconds=0.1", "device=cpu")
    run.ok(*words, f"out={tmp_path / 'out.wav'}")
    for file in (tmp_path / "run" / "samples" / "final.wav", tmp_path / "out.wav"):
        sound, rate = soundfile.read(file)
        assert (rate, sound.shape) == (RATE, (RATE // 10, 2))
    run.ok(*words, "streams=3", f"out={tmp_path / 'three.wav'}")
    assert len([*tmp_path.glob("three_*.wav")]) == 3


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
def test_files_have_two_channels_and_each_sounds_like_its_own(folder: Path, run: Run) -> None:
    out = folder / "out.wav"
    words = ("generate", f"checkpoint={folder / 'run'}", "seconds=2", "seed=1", "device=cpu")
    run.ok(*words, f"out={out}")
    sound, rate = soundfile.read(out)
    assert (rate, sound.shape[1]) == (RATE, 2)
    assert len(sound) == 2 * RATE
    many = ("seconds=0.5", "streams=16", f"out={folder / 'many.wav'}")
    run.ok(*words[:2], "seed=1", "device=cpu", *many)
    heard = [soundfile.read(file)[0].std(0) for file in folder.glob("many_*.wav")]
    assert len(heard) == 16
    left, right = np.median(heard, axis=0)  # without a prompt, some seeds swap the channels
    assert left > 0.1 > 3 * right
    start = folder / "start.flac"
    soundfile.write(start, soundfile.read(folder / "take.wav")[0][:RATE], RATE)
    run.ok(*words, f"prompt_audio={start}", f"out={folder / 'more.flac'}")
    more, _ = soundfile.read(folder / "more.flac")
    assert np.abs(more[:RATE, 0] - soundfile.read(start)[0][:, 0]).max() < 1e-3
    final, _ = soundfile.read(folder / "run" / "samples" / "final.wav")
    assert final.shape[1] == 2


@pytest.mark.thorough
def test_what_reads_symbols_takes_stereo(folder: Path, run: Run) -> None:
    words = (f"checkpoint={folder / 'run'}", "device=cpu")
    take = f"data.path={folder / 'take.wav'}"
    found = run.json("evaluate", *words)
    assert found["bits_per_symbol"] < 3
    assert found["histogram_bits"] < 8
    assert found["quantiser_snr_db"] > 60
    spectral = run.json("evaluate", *words, "protocol=spectral")
    assert spectral["seconds"] == 10
    run.ok("score", *words, f"out={folder / 'score.html'}")
    run.ok(
        "evaluate", *words, take, "data.channels=1", "data.symbols_per_sample=1"
    )  # they ask for nothing
    windowed = run.json("evaluate", *words, take, "protocol=windowed", "window=254")
    assert windowed["window"] == 256  # whole frames
