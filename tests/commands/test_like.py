"""`generate like=FILE`: as long as the file, and refused in words where that cannot be."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

import seqkit
from tests.commands.conftest import RATE, TINY
from tests.conftest import Run, process

_TIERS = ("model.input=embedding", "model.hidden_size=16", "model.lookback=20", "train.max_steps=2")


def tone(path: Path, hertz: float, seconds: float, size: float = 0.4, rate: int = RATE) -> Path:
    wave = size * np.cos(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)
    soundfile.write(path, wave, rate)
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models called codes and pitch that have learnt next to nothing."""
    folder = tmp_path_factory.mktemp("models")
    source = tone(folder / "a.wav", 220, 2)
    for kind in ("codes", "pitch"):
        words = (f"data.path={source}", f"data.conditions={kind}", f"run_dir={folder / kind}")
        done = process(*TINY, *_TIERS, *words, "seconds=0.1", cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("kind", ["codes", "pitch"])
def test_a_hum_is_followed_for_its_length(
    kind: str, models: Path, run: Run, tmp_path: Path
) -> None:
    hum = tone(tmp_path / "hum, a.wav", 440, 0.7, 0.05, 22050)
    out = tmp_path / "b.wav"
    words = (f"checkpoint={models / kind}", f"like={hum}", "seed=1", "device=cpu")
    assert f"like={hum}: " in run.ok("generate", *words, f"out={out}").err
    made, rate = soundfile.read(out, dtype="float32")
    assert (len(made), rate) == (round(0.7 * RATE), RATE)
    voice = seqkit.load(models / kind, device="cpu")
    assert np.abs(voice.generate(like=str(hum), seed=1) - made).max() < 1e-3
    assert len(voice.generate(like=str(hum), seed=1, seconds=0.5)) == RATE // 2
    assert "is what is read" in run.fails(6, "generate", *words, f"out={hum}", "overwrite=true")


def test_another_temperature_is_taken_where_it_is_given(models: Path, tmp_path: Path) -> None:
    hum = str(tone(tmp_path / "hum.wav", 440, 0.2))
    voice = seqkit.load(models / "codes", device="cpu")
    usual, hot, same = (
        voice.generate(like=hum, seed=1, temperature=heat) for heat in (None, 1.0, 0.4)
    )
    assert np.array_equal(usual, same)
    assert not np.array_equal(usual, hot)


def test_what_cannot_be_followed_is_refused_in_words(
    models: Path, learnt: Path, trained: Path, run: Run, tmp_path: Path
) -> None:
    silent = tone(tmp_path / "silent.wav", 220, 1, 0)
    hum = tone(tmp_path / "hum.wav", 220, 1)
    text = tmp_path / "text.wav"
    text.write_text("no sound")
    notes = tmp_path / "a.csv"
    notes.write_text("0,440,-20\n1,,0\n")
    for code, said, model, words in [
        (3, "it is silent", models / "codes", (f"like={silent}",)),
        (3, "it is silent", models / "pitch", (f"like={silent}",)),
        (3, "cannot be read as sound", models / "codes", (f"like={text}",)),
        (3, "no such file", models / "codes", ("like=none.wav",)),
        (3, "no such file", models / "pitch", ("like=none.csv",)),
        (2, "cannot follow it", models / "codes", (f"like={notes}",)),
        (2, "it lasts 1.00 s", models / "codes", (f"like={hum}", "seconds=2")),
        (2, "train one with recipe=my_sound", learnt / "run", (f"like={hum}",)),
        (2, "train one with recipe=my_sound", trained, (f"like={hum}",)),
    ]:
        assert said in run.fails(
            code, "generate", f"checkpoint={model}", *words, f"out={tmp_path / 'out.wav'}"
        )
        assert not (tmp_path / "out.wav").exists()


def test_weights_go_on_with_the_conditions_that_they_read(
    models: Path, run: Run, tmp_path: Path
) -> None:
    words = (f"data.path={models / 'a.wav'}", f"init_from={models / 'pitch'}")
    result = run.fails(
        2, *TINY, *_TIERS, *words, "data.conditions=codes", f"run_dir={tmp_path / 'r'}"
    )
    assert "its network does not read data.conditions=codes" in result
