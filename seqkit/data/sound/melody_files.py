"""Melodies in files: notes of a MIDI file, or lines `time,hertz,decibels` of a CSV file."""

import io
import math
from pathlib import Path

import numpy as np

from seqkit.data import files
from seqkit.data.files import BadFileError
from seqkit.data.sound.pitch import note_of
from seqkit.foundation.errors import ConfigError
from seqkit.symbols import Floats

SUFFIXES = (".csv", ".mid", ".midi")
"""Of the files that are read as melodies."""
_SILENT = -70.0  # decibels
_LONGEST = 86_400.0  # seconds
_DRUMS = 9  # the channel, from 0, whose notes have no pitch in General MIDI
_LINE = "seconds, no fewer than before, hertz (0 or nothing for a rest) and decibels: 0.5,440,-12"

_Event = tuple[float, float, float]
"""From when on, in seconds, which note, 0 for none, and how loud, in decibels."""


def read(path: Path, step: float) -> tuple[Floats, float]:
    """The melody of a file, as `melody_of` gives it every `step` seconds, and its seconds.

    Raises:
        BadFileError: the file cannot be read, or holds no melody.
        ConfigError: it is a MIDI file, which needs another package.
    """
    content = b"".join(files.blocks(path))
    events = (_csv if path.suffix.lower() == ".csv" else _midi)(path, content)
    end = events[-1][0] if events else 0.0
    if not (0 < end <= _LONGEST and any(note for _, note, _ in events[:-1])):
        raise BadFileError(path, "holds no note, or does not end within a day")
    times, *melody = np.array([(0.0, 0.0, _SILENT), *events[:-1]]).T
    frames = (np.arange(math.ceil(end / step - 1e-6)) + 0.5) * step
    return np.stack(melody, 1)[np.searchsorted(times, frames, side="right") - 1], end


def _csv(path: Path, content: bytes) -> list[_Event]:
    """What lines say that hold until the next one; the last one only says when it ends."""
    events = [(0.0, 0.0, _SILENT)]
    for number, line in enumerate(content.decode("utf-8-sig", "replace").splitlines(), 1):
        if not line.strip() or (number == 1 and line[0].isalpha()):
            continue
        try:
            time, hertz, decibels = (float(word.strip() or 0) for word in line.split(","))
            if not (time >= events[-1][0] and 0 <= hertz < math.inf and math.isfinite(decibels)):
                raise ValueError("out of range")
        except ValueError as error:
            raise BadFileError(path, f"line {number} is {line!r}: give {_LINE}") from error
        note = float(note_of(np.array(hertz))) if hertz else 0.0
        events.append((time, note, decibels if note else _SILENT))
    return events


def _midi(path: Path, content: bytes) -> list[_Event]:
    """What the highest of the notes does that sound together."""
    try:
        import mido
    except ImportError as error:
        raise ConfigError(f"{path}: MIDI needs mido: pip install 'seqkit[midi]'") from error
    try:
        messages = list(mido.MidiFile(file=io.BytesIO(content)))
    except (EOFError, IndexError, KeyError, OSError, TypeError, ValueError) as error:
        raise BadFileError(path, "is no MIDI file, or a damaged one") from error
    time, sounding, events = 0.0, dict[tuple[int, int], int](), list[_Event]()
    for message in messages:
        time += message.time
        if message.type not in ("note_on", "note_off") or message.channel == _DRUMS:
            continue
        key = message.note, message.channel
        sounding.pop(key, None)
        if message.type == "note_on" and message.velocity:
            sounding[key] = message.velocity
        note, loudness = 0, _SILENT
        if sounding:
            note, _ = highest = max(sounding)
            loudness = 40 * math.log10(sounding[highest] / 127)  # as General MIDI 2 has it
        events.append((time, float(note), loudness))
    return events
