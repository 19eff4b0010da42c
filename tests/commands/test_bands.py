"""Sound in bands from the command line: learnt from a folder, made, measured and packed."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.conftest import Run

RATE = 4000
KEYS = (
    *("recipe=my_sound", "data.bands=4", f"data.sample_rate={RATE}", "data.channels=2"),
    *("data.copies=2", "data.conditions=codes", "model.hidden_size=16", "model.lookback=0"),
    *("train.batch_size=4", "train.sequence_length=64", "train.max_steps=3", "seconds=0.5"),
    *("device=cpu", "train.max_minutes=0"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two recordings, of other lengths than whole frames, and a run on them."""
    (tmp_path / "takes").mkdir()
    draw = np.random.default_rng(0)
    for name, count in (("a", 3 * RATE + 1), ("b", 2 * RATE + 3)):
        soundfile.write(tmp_path / "takes" / f"{name}.wav", draw.uniform(-0.5, 0.5, count), RATE)
    return tmp_path


@pytest.mark.thorough
def test_all_commands_take_bands(folder: Path, run: Run) -> None:
    takes, trained = f"data.path={folder / 'takes'}", f"checkpoint={folder / 'run'}"
    run.ok(*KEYS, takes, f"run_dir={folder / 'run'}")
    sound, rate = soundfile.read(folder / "run" / "samples" / "final.wav")
    assert (rate, sound.shape) == (RATE, (RATE // 2, 2))
    words, one = (trained, "device=cpu"), f"data.path={folder / 'takes' / 'a.wav'}"
    out = folder / "out.wav"
    for more in ("seconds=0.3", f"prompt_audio={folder / 'takes' / 'b.wav'}", "loop=true"):
        given = ("seconds=0.3", "overwrite=true", f"out={out}", "seed=1")
        run.ok("generate", *words, *dict.fromkeys((more, *given)))
        sound, _ = soundfile.read(out)
        assert np.std(sound) > 0
    assert 0.25 * RATE <= len(sound) <= 0.3 * RATE
    found = run.json("evaluate", *words, one)
    # A channel in both: what tells them apart is left out.
    assert found["symbols"] == 3 * RATE + 4
    assert found["quantiser_snr_db"] > 36
    windowed = run.json("evaluate", *words, one, "protocol=windowed", "window=65")
    assert windowed["loss"] > 0
    assert windowed["window"] == 68  # whole frames
    run.ok("score", *words, one, f"out={folder / 'score.jsonl'}")
    run.ok("export", *words[:1], f"out={folder / 'model.html'}")


def test_a_rate_that_does_not_fit_is_named(run: Run, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.ones(44_100), 44_100)
    said = run.fails_in_a_line(
        2, "recipe=my_sound", "data.bands=4", "data.sample_rate=44100",
        f"data.path={tmp_path / 'a.wav'}", f"run_dir={tmp_path / 'run'}",
    )  # fmt: skip
    assert "data.sample_rate=44000 or 44400" in said
