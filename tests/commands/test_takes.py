"""`generate takes=8` as a user runs it."""

from pathlib import Path

import numpy as np
import soundfile

from tests.commands.conftest import RATE, TINY
from tests.conftest import Run


def test_a_take_is_the_stream_of_its_number(learnt: Path, run: Run, tmp_path: Path) -> None:
    words = ("generate", f"checkpoint={learnt / 'run'}", "seconds=1", "seed=1", "temperature=0.9")
    run.ok(*words, "streams=8", f"out={tmp_path / 'many.wav'}")
    made = run.ok(*words, "takes=8", f"out={tmp_path / 'best.wav'}")
    assert made.out == b""
    (line,) = (line for line in made.err.splitlines() if line.startswith("take "))
    number = int(line.split()[1])
    assert line.startswith(f"take {number} of 8 ")
    best = (tmp_path / "best.wav").read_bytes()
    assert best == (tmp_path / f"many_{number}.wav").read_bytes()
    assert sorted(file.name for file in tmp_path.glob("best*")) == ["best.wav"]
    piped = run.ok(*words, "takes=8", "out=-")
    assert piped.out[44:] == best[44:]
    again = run.ok(*words, "takes=8")
    file = Path(again.out.decode().strip())
    assert file.read_bytes() == best
    file.unlink()


def test_takes_of_what_continues_a_recording(learnt: Path, run: Run, tmp_path: Path) -> None:
    prompt = 0.3 * np.sin(2 * np.pi * 300 * np.arange(RATE) / RATE)
    soundfile.write(tmp_path / "start.wav", prompt, RATE)
    run.ok(
        *("generate", f"checkpoint={learnt / 'run'}", "seconds=0.5", "takes=2"),
        *(f"prompt_audio={tmp_path / 'start.wav'}", f"out={tmp_path / 'more.wav'}"),
    )
    made, _ = soundfile.read(tmp_path / "more.wav")
    assert len(made) == 1.5 * RATE
    assert np.abs(made[:RATE] - prompt).max() < 0.02


def test_a_model_of_a_short_recording_has_none_to_compare_with(run: Run, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, RATE // 5)
    soundfile.write(tmp_path / "short.wav", noise, RATE)
    words = ["model.hidden_size=8", "train.max_steps=1", f"data.path={tmp_path / 'short.wav'}"]
    run.ok(*TINY, *words, f"run_dir={tmp_path / 'run'}")
    text = run.fails_in_a_line(2, "generate", f"checkpoint={tmp_path / 'run'}", "takes=2")
    assert "it learnt labels, or its recording is silent or too short" in text
