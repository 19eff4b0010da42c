"""How fast `prepare` turns text and sound into shards: MB/s, and times real time.

python benchmarks/preparing.py MEGABYTES [PROCESSES]
"""

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile

from seqkit.config import DataConfig
from seqkit.data.shards.prepare import prepare
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Bar, unseen

_VERSE = Path(__file__).parent.parent / "seqkit" / "data" / "datasets" / "verse.txt"
_RATE, _SECONDS = 44_100, 60  # of a file of sound, in stereo


def table(megabytes: int) -> str:
    """A row for each kind of data, with the seconds of each pass over it."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in ("ASCII", "UTF-8", "sound"):
            source = folder / kind
            source.mkdir()
            if kind == "sound":
                seconds = _make_sound(source, megabytes)
                keys = DataConfig(path=[str(source)], kind="audio", sample_rate=16_000)
            else:
                _make_text(source / "text.txt", megabytes, kind)
                keys = DataConfig(path=[str(source / "text.txt")], kind="text")
            size = sum(file.stat().st_size for file in source.iterdir())
            passes = _passes(keys, folder / f"shards of {kind}")
            whole = sum(passes.values())
            told = ", ".join(f"{title} {taken:.2f} s" for title, taken in passes.items())
            speed = f"{size / 1e6 / whole:.0f} MB/s"
            if kind == "sound":
                speed += f", {seconds / whole:.0f} x real time"
            rows.append(f"{kind:6}  {size / 1e6:6.0f} MB  {speed}  ({told})")
    return "\n".join(rows)


def _passes(keys: DataConfig, out: Path) -> dict[str, float]:
    """The seconds of each pass, the start of its processes included."""
    taken: dict[str, float] = {}

    @contextlib.contextmanager
    def progress(title: str, total: int = 0, completed: int = 0, unit: str = "") -> Iterator[Bar]:
        begun = time.perf_counter()
        with unseen(title, total) as bar:
            yield bar
        taken[title] = time.perf_counter() - begun

    prepare(
        keys,
        out,
        catalogue=Catalogue(),
        notice=lambda text: None,
        progress=progress,
    )
    return taken


def _make_text(file: Path, megabytes: int, kind: str) -> None:
    verse = _VERSE.read_text()
    if kind == "UTF-8":
        verse = verse.replace("'", "’").replace("--", "—").replace("ee", "é")
    content = verse.encode()
    with file.open("wb") as stream:
        for _ in range(megabytes * 1_000_000 // len(content) + 1):
            stream.write(content)


def _make_sound(folder: Path, megabytes: int) -> float:
    """Files of noise, and their seconds."""
    count = max(1, megabytes * 1_000_000 // (4 * _RATE * _SECONDS))
    draw = np.random.default_rng(0)
    wave = (0.1 * draw.standard_normal((_RATE * _SECONDS, 2))).clip(-1, 1)
    for number in range(count):
        soundfile.write(folder / f"{number}.wav", wave, _RATE)
    return float(count * _SECONDS)


if __name__ == "__main__":
    megabytes, processes = ([int(word) for word in sys.argv[1:]] + [0, 0])[:2]
    if processes:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:processes])
    print(table(megabytes or 1000))
