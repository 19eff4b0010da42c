"""Draws a recording beside what a model made of it: the pictures in docs/measured/sound.md.

    python docs/pictures/beside.py recording.ogg made.wav beside.png

shows the first ten seconds of both, mixed to mono and at the sample rate of the second.
"""

import sys
from pathlib import Path

from seqkit.data.sound import Wave, pictures, reader
from seqkit.data.sound.resample import resample
from seqkit.foundation.errors import SeqkitError

_SECONDS = 10


def draw(recording: Path, made: Path, out: Path) -> None:
    """Write the picture. Raises BadFileError, OutputError."""
    rate = reader.SoundReader(made).sample_rate
    pictures.draw(out, {"recording": _begin(recording, rate), "model": _begin(made, rate)}, rate)


def _begin(file: Path, rate: int) -> Wave:
    wave, own = reader.read_whole(file)
    return resample(wave, own, rate)[: _SECONDS * rate]


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("beside.py: give a recording, a sound and the name of a picture")
    try:
        draw(*map(Path, sys.argv[1:]))
    except SeqkitError as error:
        print(f"beside.py: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
