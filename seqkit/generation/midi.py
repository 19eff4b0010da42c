"""The notes of a MIDI file, which a voice sings in place of those that its model writes."""

import dataclasses
import io
import math
from pathlib import Path

import numpy as np

from seqkit.config import Config
from seqkit.data import files
from seqkit.data.codecs import Codec
from seqkit.data.files import BadFileError
from seqkit.data.sound.pitch import PitchBook
from seqkit.foundation.console import Notice
from seqkit.foundation.errors import ConfigError
from seqkit.generation.slow_tier import SlowTier
from seqkit.symbols import Floats, Symbols

_DRUMS = 9  # the channel, from 0, whose notes have no pitch in General MIDI
_LONGEST = 86_400.0  # seconds
_OCTAVES = (0, -1, 1, -2, 2, -3, 3)


def follow(
    config: Config, codec: Codec, slow: SlowTier | None, notice: Notice
) -> tuple[Config, Symbols | None]:
    """The codes of the file that `like` names, (frames,), and the config with its length.

    `notice` is told how many of its notes the model knows. Without `like`: the config as it is, and
    None.

    Raises:
        ConfigError: the model sings no notes, or more is asked for than the file has.
        DataError: it is no MIDI file, or has no notes.
    """
    if config.like is None:
        return config, None
    name, path = f"like={config.like}", Path(config.like)
    if config.until is not None:
        raise ConfigError(f"{name}: the sample ends with that file: leave until={config.until} out")
    if not (codec.kind == "audio" and slow and isinstance(slow.codebook, PitchBook)):
        fault = "this model sings no notes: train one with recipe=my_sound data.conditions=pitch"
        raise ConfigError(f"{name}: {fault}")
    book, rate = slow.codebook, codec.sample_rate
    notes, seconds = read_notes(path, book.hop / rate)
    length, whole = config.length, max(codec.phases, codec.symbols_of(seconds * rate))
    if config.seconds is not None:
        length = codec.symbols_of(config.seconds * rate)
    length = whole if length is None else length - length % codec.phases
    if length > whole:
        raise ConfigError(f"{name}: it lasts {seconds:.2f} s: ask for no more than that")
    sung = notes > 0
    known = [np.isin(notes[sung] + 12 * n, book.notes).mean() for n in _OCTAVES]
    best = int(np.argmax(known))
    moved = f", moved by {_OCTAVES[best]:+d} octaves" if best else ""
    notice(f"{name}: the model knows {known[best]:.0%} of its notes{moved}")
    codes = book.codes((notes + 12 * _OCTAVES[best] * sung)[:, None])
    return dataclasses.replace(config, length=length), codes


def read_notes(path: Path, step: float) -> tuple[Floats, float]:
    """The highest note every `step` seconds, 0 for none, (frames,), and the seconds of a file.

    Raises:
        BadFileError: the file cannot be read, is no MIDI file, or holds no note.
        ConfigError: it needs another package.
    """
    content = b"".join(files.blocks(path))
    try:
        import mido
    except ImportError as error:
        raise ConfigError(f"{path}: MIDI needs mido: pip install 'seqkit[midi]'") from error
    try:
        messages = list(mido.MidiFile(file=io.BytesIO(content)))
    except (EOFError, IndexError, KeyError, OSError, TypeError, ValueError) as error:
        fault = "is no MIDI file, or a damaged one: give like=FILE.mid"
        raise BadFileError(path, fault) from error
    time, sounding, events = 0.0, set[tuple[int, int]](), [(0.0, 0)]
    for message in messages:
        time += message.time
        if message.type not in ("note_on", "note_off") or message.channel == _DRUMS:
            continue
        key = message.note, message.channel
        sounding.discard(key)
        if message.type == "note_on" and message.velocity:
            sounding.add(key)
        events.append((time, max(sounding, default=(0, 0))[0]))
    times, notes = np.array(events).T
    if not (notes.any() and times[-1] <= _LONGEST):
        raise BadFileError(path, "holds no note, or does not end within a day")
    frames = (np.arange(math.ceil(times[-1] / step - 1e-6)) + 0.5) * step
    return notes[np.searchsorted(times, frames, side="right") - 1], float(times[-1])
