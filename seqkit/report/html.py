"""What pages are made of: templates, text that can do no harm, sound that can be heard."""

import base64
import functools
import io
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from seqkit.data.files import BadFileError
from seqkit.data.sound import Wave, pictures, reader, resample, writer
from seqkit.foundation import disk
from seqkit.foundation.console import Bar, Progress, unseen
from seqkit.foundation.escaping import visible

_MOST_TEXTS = 300
_MOST_SOUNDS = 60
"""A WAV of one second at the highest rate has 96 kB, so 60 of them, in base64, have 8 MB."""
_LONGEST_TEXT = 20_000  # bytes
_LONGEST_SOUND = 6.0  # seconds
_HIGHEST_RATE = 48_000  # hertz that a page needs; browsers play no more than 192,000
_DECIBELS = 70  # between the brightest colour and the darkest
_COLUMNS, _HALF = 300, 30  # of a waveform's picture

_T = TypeVar("_T")


def render(name: str, values: Mapping[str, Any]) -> bytes:
    """The page that a template beside this file makes of these values, as UTF-8."""
    return _environment().get_template(name).render(values).encode("utf-8", "replace")


@functools.cache
def _environment() -> Environment:
    """It keeps what it compiled: a training writes its page again and again."""
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


class Text(NamedTuple):
    """A sample of text; `more` bytes of it are left out."""

    title: str
    text: str
    more: int


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


def texts(files: Sequence[tuple[str, Path]]) -> list[Text]:
    """Samples of text with their titles; of very many, some that are spread over all."""
    shown = []
    for title, file in _spread(files, _MOST_TEXTS):
        try:
            size = file.lstat().st_size
            if not stat.S_ISREG(file.lstat().st_mode):
                continue
            with file.open("rb") as stream:
                content = stream.read(_LONGEST_TEXT)
        except OSError as error:
            shown.append(Text(title, f"({disk.describe(error)})", 0))
            continue
        text = visible(content.decode("utf-8", "replace").replace("\r\n", "\n"))
        shown.append(Text(title, text, max(0, size - len(content))))
    return shown


def sounds(files: Sequence[tuple[str, Path]], progress: Progress = unseen) -> list[Sound]:
    """Samples of sound with their titles, all to the scale of the first.

    Of very many, some that are spread over all; of each, its first seconds.
    """
    chosen = _spread(files, _MOST_SOUNDS)
    with progress("read samples", len(chosen)) as bar:
        return [*_sounds(chosen, bar)]


def _sounds(files: Sequence[tuple[str, Path]], bar: Bar) -> Iterator[Sound]:
    top = None
    for done, (title, file) in enumerate(files):
        bar.update(done)
        try:
            if not stat.S_ISREG(file.lstat().st_mode):
                continue
            wave, rate = reader.beginning(file, _LONGEST_SOUND)
        except (BadFileError, OSError) as error:
            yield Sound(title, error=visible(str(error)))
            continue
        if rate > _HIGHEST_RATE:
            wave, rate = resample.resample(wave, rate, _HIGHEST_RATE), _HIGHEST_RATE
        decibels = pictures.log_mel(wave, rate)
        top = float(decibels.max()) if top is None else top
        picture = _data_url("image/png", _picture(decibels, top))
        yield player(title, wave, rate)._replace(spectrogram=picture)


def player(title: str, wave: Wave, rate: int) -> Sound:
    """A wave (N,) that can be heard, with its outline and without a spectrogram."""
    return Sound(
        title,
        seconds=wave.size / rate,
        rate=rate,
        audio=_data_url("audio/wav", writer.whole_wav(wave, rate)),
        outline=_outline(wave),
    )


def _spread(items: Sequence[_T], most: int) -> list[_T]:
    """At most so many, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    places = np.linspace(0, len(items) - 1, most).round().astype(int)
    return [items[place] for place in places]


def _picture(decibels: pictures.Decibels, top: float) -> bytes:
    """A mel spectrogram (M, frames) as a PNG of as many pixels."""
    from matplotlib.image import imsave

    content = io.BytesIO()
    imsave(
        *(content, decibels),
        vmin=top - _DECIBELS,
        vmax=top,
        cmap="magma",
        origin="lower",
        format="png",
    )
    return content.getvalue()


def _outline(wave: Wave) -> str:
    """A closed SVG path around a waveform, full scale being ±30."""
    low, high = pictures.envelope(wave, _COLUMNS)
    upper = [f"{x} {-_HALF * y:.1f}" for x, y in enumerate(high)]
    lower = [f"{x} {-_HALF * y:.1f}" for x, y in reversed([*enumerate(low)])]
    return f"M{'L'.join([*upper, *lower])}Z"


def _data_url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
