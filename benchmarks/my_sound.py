"""Measures what `recipe=my_sound` learnt of a recording: rows of docs/measured/sound.md.

    python benchmarks/my_sound.py RECORDING RUN OUT

makes three sounds of ten seconds and five of twenty in the folder OUT on a CPU, and prints a line
of JSON: the distances ÷ their limits (means), pulse and precision and recall beside the
recording's, the longest passages copied, and how many of the long sounds are stuck, silent or
repeat themselves for longer than the recording does.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from seqkit.data.sound import Wave
from seqkit.evaluation.hearing import MOMENTS, Levels, Sound
from seqkit.evaluation.likeness import Distances, copied
from seqkit.evaluation.recording import Recording

_TEN, _LONG = (10, 3, 11), (20, 5, 21)  # seconds, sounds, seed
_STILL = 0.5  # decibels in a band, from moment to moment
_SILENT = 60.0  # decibels below the loudest
_MORE = 2.0  # seconds longer than the recording's
_OCTAVES = (63, 125, 250, 500, 1000, 2000, 4000, 8000, 16000)


def made(run: Path, out: Path, seconds: int, streams: int, seed: int) -> list[tuple[Wave, int]]:
    """Sounds (N, C) and their rate."""
    keys = [f"checkpoint={run}", f"seconds={seconds}", f"streams={streams}", f"seed={seed}"]
    keys += ["device=cpu", "quiet=true", f"out={out / f'of_{seconds}.wav'}"]
    subprocess.run([sys.executable, "-m", "seqkit", "generate", *keys], check=True, stdout=2)
    files = sorted(out.glob(f"of_{seconds}*.wav"))
    assert len(files) == streams, files
    return [soundfile.read(file, dtype="float32", always_2d=True) for file in files]


def longest(runs: Any) -> float:
    """The longest run of true values (N,), in seconds of moments."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(runs, int), [0]])))
    return float((edges[1::2] - edges[::2]).max(initial=0)) / MOMENTS


def faults(moments: Levels) -> tuple[float, float, float]:
    """How long moments (n, 32) stand still, are silent, and repeat what was in the first half."""
    still = np.abs(np.diff(moments, axis=0)).mean(1) < _STILL
    levels = moments.max(1)
    half = len(moments) // 2
    again = copied(moments[half:], moments[:half], 1).longest_passage
    return longest(still), longest(levels < moments.max() - _SILENT), again


def sides(waves: list[Wave], rate: int) -> list[float]:
    """Side ÷ mid by octave, in decibels."""
    wave = np.concatenate(waves)
    power = [np.square(np.abs(np.fft.rfft(wave @ (0.5, sign)))) for sign in (0.5, -0.5)]
    hertz = np.fft.rfftfreq(len(wave), 1 / rate)
    bands = [(hertz > low / 2**0.5) & (hertz < low * 2**0.5) for low in _OCTAVES]
    return [10 * float(np.log10(power[1][b].sum() / power[0][b].sum())) for b in bands]


def measured(recording: Path, run: Path, out: Path) -> dict[str, Any]:
    """A row."""
    wave, rate = soundfile.read(recording, dtype="float32", always_2d=True)
    mono = wave.mean(1)
    known, limits = Recording.of(mono, rate), np.array(Recording.of(mono, rate).limits)

    def moments(sound: Wave, rate: int) -> Levels:
        heard = Sound.of(sound, rate).times(known.factor, known.full_factor)
        return heard.hear(known.heard.floor).moments

    row: dict[str, Any] = {"limits": limits.tolist(), "has_pulse": known.has_pulse}
    for name, asked in (("ten", _TEN), ("long", _LONG)):
        sounds = made(run, out, *asked)
        monos = [(sound.mean(1), its) for sound, its in sounds]
        said = [known.judged(*one) for one in monos]
        each = np.array([judgement.distances for judgement in said if judgement.distances])
        ratios = each.mean(0) / limits
        row[name] = {
            "ratios": ratios.round(3).tolist(),
            "worst": [Distances._fields[int(ratios.argmax())], round(float(ratios.max()), 3)],
            "each": (each / limits).max(1).round(3).tolist(),
            "pulse": round(1 - float(each.mean(0)[-1]), 3) if known.has_pulse else None,
            "fidelity": np.mean([known.fidelity(*one) for one in monos], 0).round(3).tolist(),
            "copied": [round(j.copied.longest_passage, 2) for j in said if j.copied],
            "clipped": sum(int((np.abs(sound) >= 0.9999).sum()) for sound, _ in sounds),
        }
        if name == "long":
            size = 20 * rate
            pieces = [mono[n : n + size] for n in range(0, len(mono) - size + 1, size // 2)]
            own = np.max([faults(moments(piece, rate)) for piece in pieces], 0)
            found = np.array([faults(moments(*one)) for one in monos])
            row["own_faults"], row["faults"] = own.tolist(), found.round(2).tolist()
            row["faulty"] = (found > own + _MORE).sum(0).tolist()
        if wave.shape[1] == 2:
            both = sides([sound for sound, _ in sounds], sounds[0][1]), sides([wave], rate)
            row[name]["side_to_mid"] = np.subtract(*both).round(1).tolist()
    return row


if __name__ == "__main__":
    print(json.dumps(measured(*(Path(argument) for argument in sys.argv[1:4]))))
