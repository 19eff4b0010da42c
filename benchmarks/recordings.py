"""Makes the eight recordings of docs/lab/sound.md from clones of the repositories named there.

    python benchmarks/recordings.py CLONES OUT

CLONES has a git repository for each, OWNER+NAME/repo.
"""

import subprocess
import sys
from fnmatch import fnmatch
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import soundfile

_FADE = 0.02  # seconds, at the end of each file
_PEAK = 0.9


class Source(NamedTuple):
    """Files of a repository, in the order of their names: every so manieth, a part of each."""

    repository: str
    patterns: tuple[str, ...]
    seconds: float
    every: int = 1
    files: int | None = None
    channels: int = 1


SOURCES = {
    "guitar": Source("freepats+spanish-classical-guitar", ("samples/*.flac",), 1.6, files=40),
    "piano": Source(
        "freepats+upright-piano-KW", ("samples/*vH.flac", "samples/*vL.flac"), 2.0, every=2
    ),
    "wind": Source("sfzinstruments+karoryfer.bear-sax", ("Samples/*_vl[12]_rr[12].wav",), 1.5),
    "bass": Source("sfzinstruments+karoryfer.swagbass", ("notes/*_f_rr[1-4].wav",), 0.75),
    "synth": Source("Tonejs+audio", ("berklee/arpeggio3crazy.mp3",), 56.0),
    "speech": Source(
        "rhasspy+dataset-voice-kerstin", ("verified/de_rhasspy-00*.flac",), 60.0, files=12
    ),
    "drums": Source("mdn+webaudio-examples", ("multi-track/drums.mp3",), 60.0),
    "mix": Source(
        "librosa+data", ("audio/Karissa_Hobbs_-_Lets_Go_Fishin.hq.ogg",), 60.0, channels=2
    ),
}


def made(clones: Path, source: Source) -> tuple[npt.NDArray[np.float32], int]:
    """A recording (N, C), and its rate in hertz."""
    git = ["git", "-C", str(clones / source.repository / "repo")]
    listed = subprocess.check_output([*git, "ls-tree", "-rz", "--name-only", "HEAD"], text=True)
    names = sorted(listed.split("\0"))
    chosen = [name for pattern in source.patterns for name in names if fnmatch(name, pattern)]
    parts, rate = [], 0
    for name in chosen[:: source.every][: source.files]:
        content = subprocess.check_output([*git, "show", f"HEAD:{name}"])
        wave, rate = soundfile.read(BytesIO(content), dtype="float32", always_2d=True)
        wave = wave[: round(source.seconds * rate)]
        if source.channels == 1:
            wave = wave.mean(1, keepdims=True)
        fade = np.linspace(1, 0, round(_FADE * rate), dtype=np.float32)[-len(wave) :]
        wave[-len(fade) :] *= fade[:, None]
        parts.append(wave)
    joined = np.concatenate(parts)
    return joined * np.float32(_PEAK / np.abs(joined).max()), rate


def main(clones: Path, out: Path) -> None:
    """Write NAME.flac of each."""
    out.mkdir(parents=True, exist_ok=True)
    for name, source in SOURCES.items():
        wave, rate = made(clones, source)
        soundfile.write(out / f"{name}.flac", wave, rate, subtype="PCM_16")
        print(name, f"{len(wave) / rate:.1f}", rate)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
