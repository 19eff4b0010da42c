"""What pages show: samples of text that can do no harm, and of sound that can be heard."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seqkit.data.files import BadFileError
from seqkit.data.sound import Wave, pictures, reader, resample, writer
from seqkit.foundation import disk
from seqkit.foundation.wording import visible
from seqkit.symbols import Floats

_LONGEST_TEXT = 20_000  # bytes
_LONGEST_SOUND = 6.0  # seconds
_HIGHEST_RATE = 48_000  # hertz that a page needs; browsers play no more than 192,000
_DECIBELS = 70  # between the brightest colour and the darkest
_COLUMNS, _HALF = 300, 30  # of a waveform's picture

Titled = tuple[str, Path]
"""What stands over a sample, and its file."""


class Sound(NamedTuple):
    """A sample of sound: WAV and PNG as data URLs, and the outline of the waveform as an SVG path.

    `error` stands in place of all of them where the file cannot be read.
    """

    title: str
    seconds: float = 0.0
    rate: int = 0
    audio: str = ""
    spectrogram: str = ""
    outline: str = ""
    error: str = ""


def spread(samples: Sequence[Titled], most: int) -> list[Titled]:
    """At most so many, the first and the last among them."""
    places = np.linspace(0, len(samples) - 1, min(most, len(samples))).round().astype(int)
    return [samples[place] for place in places]


def text(title: str, file: Path) -> tuple[str, str, int]:
    """The title of a sample of text, it as far as it is shown, and how many more bytes it has."""
    try:
        with file.open("rb") as stream:
            content = stream.read(_LONGEST_TEXT)
        more = file.stat().st_size - len(content)
    except OSError as error:
        return title, f"({disk.describe(error)})", 0
    return title, visible(content.decode("utf-8", "replace").replace("\r\n", "\n")), more


def sounds(samples: Sequence[Titled]) -> list[Sound]:
    """Samples of sound, of each its first seconds, all to the scale of the first."""
    shown, top = [], None
    for title, file in samples:
        try:
            wave, rate = reader.read_whole(file, _LONGEST_SOUND)
        except (BadFileError, OSError) as error:
            shown.append(Sound(title, error=visible(str(error))))
            continue
        if rate > _HIGHEST_RATE:
            wave, rate = resample.resample(wave, rate, _HIGHEST_RATE), _HIGHEST_RATE
        decibels = pictures.log_mel(wave, rate)
        top = float(decibels.max()) if top is None else top
        shown.append(player(title, wave, rate)._replace(spectrogram=_picture(decibels, top)))
    return shown


def player(title: str, wave: Wave, rate: int) -> Sound:
    """A wave (N,) that can be heard, with its outline and without a spectrogram."""
    low, high = pictures.envelope(wave, _COLUMNS)
    upper = [f"{x} {-_HALF * y:.1f}" for x, y in enumerate(high)]
    lower = [f"{x} {-_HALF * y:.1f}" for x, y in reversed([*enumerate(low)])]
    return Sound(
        title,
        seconds=wave.size / rate,
        rate=rate,
        audio=_data_url("audio/wav", writer.whole_wav(wave, rate)),
        outline=f"M{'L'.join([*upper, *lower])}Z",
    )


def _picture(decibels: Floats, top: float) -> str:
    """A mel spectrogram (M, frames) as a PNG of as many pixels."""
    from matplotlib.image import imsave

    content, low = io.BytesIO(), top - _DECIBELS
    imsave(content, decibels, vmin=low, vmax=top, cmap="magma", origin="lower", format="png")
    return _data_url("image/png", content.getvalue())


def _data_url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
