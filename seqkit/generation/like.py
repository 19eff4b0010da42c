"""Another sound as the score: what the large network is told is read from a file, not written."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np

from seqkit.config import Config
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.files import BadFileError
from seqkit.data.sound import Wave, melody_files
from seqkit.data.sound.pitch_loudness import PitchBook, level, melody_of
from seqkit.data.sound.reader import Reader
from seqkit.data.sound.slow_codes import Codebook
from seqkit.evaluation.recording import Recording
from seqkit.foundation.errors import ConfigError
from seqkit.generation.slow_tier import SlowTier
from seqkit.symbols import Floats, Symbols

_SILENT = -60.0  # decibels; a file without anything louder is silent
_OCTAVES = range(-4, 5)
_WORTH = 0.05  # of the notes, which moving by an octave more has to gain

Notice = Callable[[str], None]


def follow(
    config: Config, codec: Codec, slow: SlowTier | None, recording: Recording | None, notice: Notice
) -> tuple[Config, Symbols | None]:
    """The codes (frames,) of the file that `like` names, and the config with its length.

    `notice` is told how far they are from what the model knows. Without `like`: the config as it
    is, and None.

    Raises:
        ConfigError: the model reads no codes, or none that the file gives; or more is asked for
            than the file has.
        DataError: the file cannot be read, or is silent.
    """
    if config.like is None:
        return config, None
    name, path = f"like={config.like}", Path(config.like)
    of_notes = path.suffix.lower() in melody_files.SUFFIXES
    if slow is None or (of_notes and not isinstance(slow.codebook, PitchBook)):
        raise ConfigError(
            f"{name}: this model cannot follow it: train one with recipe=my_sound and "
            "data.conditions=codes, or pitch_loudness for voices, MIDI and CSV"
        )
    assert isinstance(codec, Quantiser)
    book, rate = slow.codebook, codec.sample_rate
    if of_notes:
        wave, (melody, seconds) = np.zeros(0, np.float32), melody_files.read(path, book.hop / rate)
    else:
        wave = np.concatenate([*Reader(path).resampled(rate)])[:, 0]
        melody, seconds = melody_of(wave, rate), len(wave) / rate
    if melody[:, 1].max(initial=-np.inf) < _SILENT:
        raise BadFileError(path, f"it is silent: nothing in it is louder than {_SILENT:g} dB")
    length, whole = config.length, max(1, round(seconds * rate)) * codec.phases
    if config.seconds is not None:
        length = round(config.seconds * rate) * codec.phases
    if length is not None and length > whole:
        raise ConfigError(f"{name}: it lasts {seconds:.2f} s: ask for no more than that")
    if isinstance(book, PitchBook):
        codes, said = _sung(melody, book, level(book.pairs[slow.codes - 1, 1]))
    else:
        if recording is not None:
            own = level(recording.heard.level) - 20 * np.log10(recording.factor)
            wave = wave * np.float32(10 ** ((own - level(melody[:, 1])) / 20))
        # Quantised, as what was learnt.
        codes, said = _sounds(codec.frames(codec.encode(wave)).mean(1), book)
    notice(f"{name}: {said}")
    return config if length is not None else dataclasses.replace(config, length=whole), codes


def _sounds(wave: Wave, book: Codebook) -> tuple[Symbols, str]:
    """The codes of a wave (N,), and how near they are."""
    described = book.describe(wave)
    codes = book.codes(described)
    offsets = described - book.centres[codes - 1], book.centres - book.centres.mean(0)
    apart, spread = (float(np.linalg.norm(own, axis=1).mean()) for own in offsets)
    return codes, (
        f"its sounds are {apart / max(spread, 1e-6):.2f} from those that the model knows (its own "
        "recording: 0.1 to 0.3; from 1 on expect its rhythm, not its tune)"
    )


def _sung(melody: Floats, book: PitchBook, loudness: float) -> tuple[Symbols, str]:
    """The codes of a melody (frames, 2) in octaves that the model knows, at a level in decibels."""
    notes, decibels = melody.T
    sung, rounded, known = notes > 0, np.round(notes), book.pairs[:, 0].round()
    shares = [np.isin(rounded + 12 * n, known)[sung].sum() / max(sung.sum(), 1) for n in _OCTAVES]
    best = int(np.argmax(np.array(shares) - _WORTH * np.abs(_OCTAVES)))
    moved = _OCTAVES[best]
    heard = np.stack([notes + 12 * moved * sung, decibels - level(decibels) + loudness], 1)
    said = f"{shares[best]:.0%} of its notes are among those that the model knows"
    if moved:
        said += f"; it is moved by {moved:+d} octaves"
    return book.codes((heard - book.mean) @ book.basis), said
