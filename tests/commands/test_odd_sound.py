"""Odd recordings: recipe=my_sound trains and says what to expect, or says what is needed."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import soundfile

from seqkit.data.codecs import Spectral
from seqkit.foundation.catalogue import Catalogue
from seqkit.runs.checkpoint import load as load_checkpoint
from tests.conftest import Run, summary_of

SMALL = (
    *("recipe=my_sound", "model.hidden_size=16", "model.num_layers=1"),
    *("train.max_minutes=0", "train.max_steps=1", "seconds=0.1", "device=cpu"),
)


def tone(seconds: float, rate: int, hertz: float = 300) -> npt.NDArray[np.float64]:
    wave = 0.3 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)
    noisy: npt.NDArray[np.float64] = wave + np.random.default_rng(0).normal(0, 0.01, wave.size)
    return noisy


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("samples", "rate", "code", "told"),
    [
        (tone(1, 44100), 44100, 0, "the sound is short, 1.0 s: 10 s is the least"),
        (np.zeros(80_000), 8000, 3, "in which at least 20 ms can be heard"),
        (np.sin(2 * np.pi * 440 * np.arange(96_000) / 8000), 8000, 0, "finished: 1 step in"),
        (tone(2, 96_000), 96_000, 0, "1 resampled from 96000 Hz to 48000 Hz"),
        (np.pad(tone(1, 8000), 80_000), 8000, 0, "19.7 s of silence left out (data.trim"),
    ],
    ids=["short", "silent", "tone", "96 kHz", "pauses"],
)
def test_a_recording(
    samples: npt.NDArray[np.float64], rate: int, code: int, told: str, run: Run, tmp_path: Path
) -> None:
    soundfile.write(tmp_path / "take.flac", samples, rate)
    result = run(*SMALL, f"data.path={tmp_path / 'take.flac'}", f"run_dir={tmp_path / 'run'}")
    assert (result.code, told in result.err) == (code, True), result.err
    made = tmp_path / "run" / "samples" / "final.wav"
    assert made.exists() == (code == 0)


@pytest.mark.thorough
def test_silence_is_not_validated_on(run: Run, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.pad(tone(16, 8000), (0, 8000)), 8000)
    kept = tmp_path / "run"
    words = (*SMALL, "data.split=0.9,0.1,0", "data.sample_rate=8000")
    run.ok(*words, f"data.path={tmp_path / 'a.wav'}", f"run_dir={kept}")
    found = run.json("evaluate", f"checkpoint={kept}", "device=cpu")
    codec = load_checkpoint(kept / "checkpoints" / "best.safetensors", Catalogue()).codec
    assert isinstance(codec, Spectral)
    assert found["symbols"] / codec.symbol_rate == pytest.approx(1.7 - 1 + 0.3, abs=0.1)
    best = summary_of(kept)["best_validation_loss"]
    assert found["loss"] == pytest.approx(best, abs=2e-3)
