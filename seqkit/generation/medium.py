"""Text or sound: the one place that asks which.

A medium knows what the symbols of a codec are to a person: how long a sample is by default, how a
prompt is read, and where the result goes.
"""

from pathlib import Path

import numpy.typing as npt

from seqkit.data.codecs import Codec
from seqkit.generation.sound import Sound
from seqkit.generation.text import Text

Medium = Text | Sound
"""What both do is explained at `Text`."""


def medium_of(codec: Codec, newline: str = "keep", loop: bool = False) -> Medium:
    """The medium of a codec.

    It reads the line ends of text as `data.newline` says; `loop`: sound that is played round and
    round.
    """
    if codec.kind == "audio":
        return Sound(codec, loop)
    return Text(codec, newline)


def save_sample(medium: Medium, symbols: npt.ArrayLike, stem: Path) -> Path:
    """Write a whole sample (N,) to `stem` with its suffix added. Raises OutputError."""
    file = stem.with_name(f"{stem.name}{medium.suffix}")
    with medium.open(file, overwrite=True) as write:
        write(symbols)
    return file
