"""Another sound as the score: its codes stand in place of written ones, its loudness is kept."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from seqkit.config import Config
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.files import BadFileError
from seqkit.data.sound import Frames, Wave, melody_files
from seqkit.data.sound.pitch import FRAMES, PitchBook, level, melody_of
from seqkit.data.sound.reader import SoundReader
from seqkit.data.sound.slow_codes import Codebook
from seqkit.evaluation.recording import Recording
from seqkit.foundation.console import Notice
from seqkit.foundation.errors import ConfigError
from seqkit.generation.engine import Blocks
from seqkit.generation.slow_tier import SlowTier
from seqkit.symbols import Floats, Integers, Symbols

_SILENT = -60.0  # decibels; a file without anything louder is silent
_LEVEL = -20.0  # decibels of the sample, if nothing is known of the recording
_LOUDER = 20.0  # decibels at most that a frame is made louder by
_OCTAVES = range(-4, 5)
_NEAR = 0.4  # from what the model knows, where its own recording is up to 0.3
_WORTH = 0.05  # of the notes, which moving by an octave more has to gain


@dataclass(frozen=True)
class Followed:
    """What is followed.

    codes: that the model reads, (frames,).
    decibels: how loud it is to be, 100 times a second, (frames,).
    """

    codes: Symbols
    decibels: Floats


def follow(
    config: Config, codec: Codec, slow: SlowTier | None, recording: Recording | None, notice: Notice
) -> tuple[Config, Followed | None]:
    """What the file that `like` names says, and the config with its length.

    `notice` is told how far it is from what the model knows. Without `like`: the config as it
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
    if config.until is not None:
        raise ConfigError(f"{name}: the sample ends with that file: leave until={config.until} out")
    if slow is None or (of_notes and not isinstance(slow.codebook, PitchBook)):
        raise ConfigError(
            f"{name}: this model cannot follow it: train one with recipe=my_sound and "
            "data.conditions=codes, or pitch for voices, MIDI and CSV"
        )
    assert isinstance(codec, Quantiser)
    book, rate = slow.codebook, codec.sample_rate
    if of_notes:
        wave, (melody, seconds) = np.zeros(0, np.float32), melody_files.read(path, book.hop / rate)
    else:
        wave = np.concatenate([*SoundReader(path).resampled(rate)])[:, 0]
        melody, seconds = melody_of(wave, rate), len(wave) / rate
        if melody[:, 1].max(initial=-np.inf) < _SILENT:
            raise BadFileError(path, f"it is silent: nothing in it is louder than {_SILENT:g} dB")
    length, whole = config.length, max(codec.phases, codec.symbols_of(seconds * rate))
    if config.seconds is not None:
        length = codec.symbols_of(config.seconds * rate)
    length = whole if length is None else length - length % codec.phases
    if length > whole:
        raise ConfigError(f"{name}: it lasts {seconds:.2f} s: ask for no more than that")
    loudness = _LEVEL
    if recording is not None:
        loudness = level(recording.heard.level) - 20 * np.log10(recording.factor)
    louder = loudness - level(melody[:, 1])
    if isinstance(book, PitchBook):
        codes, said = _sung(melody[:, 0], book)
    else:
        # Quantised, as what was learnt.
        wave = wave * np.float32(10 ** (louder / 20))
        codes, said = _sounds(codec.frames(codec.encode(wave)).mean(1), book)
    notice(f"{name}: {said}")
    return dataclasses.replace(config, length=length), Followed(codes, melody[:, 1] + louder)


def levelled(blocks: Blocks, codec: Quantiser, decibels: Floats) -> Blocks:
    """Hand on blocks (N, S) of sound, every frame of which is made as loud as `decibels` has it.

    The gain goes from one border of frames to the next; at a border it brings the mean power of
    both frames to what is followed.
    """
    hop, place = codec.symbols_of(codec.sample_rate / FRAMES), 0
    samples, frames_each = codec.samples_of(hop), hop // codec.phases
    wanted = np.convolve(np.pad(decibels, 1, mode="edge"), (0.5, 0.5), "valid")  # at borders
    readers, before = list[Callable[[Integers], Frames]](), None
    held, heard = np.zeros((0, 1), np.int64), np.zeros((1, 0, codec.channels), np.float32)
    for block in chain(blocks, [None]):
        if block is not None:
            readers = readers or [codec.reader() for _ in block.T]
            frames = np.stack([read(stream) for read, stream in zip(readers, block.T, strict=True)])
            held = np.concatenate([held, block]) if len(held) else block
            heard = np.concatenate([heard, frames], 1) if heard.size else frames
        # A frame waits for the one after it.
        count = -(-len(held) // hop) if block is None else len(held) // hop - 1
        if count < 1:
            continue
        waves = heard[:, : (count + 1) * samples]
        starts = np.arange(0, waves.shape[1], samples)
        powers = np.add.reduceat(np.square(waves).mean(2), starts, 1)
        powers /= np.diff(starts, append=waves.shape[1])
        first = powers[:, :1] if before is None else before
        around = np.concatenate([first, powers, powers[:, -1:]], 1)
        means = 10 * np.log10((around[:, :-1] + around[:, 1:]) / 2 + 1e-7)[:, : count + 1]
        at = np.minimum(place + np.arange(count + 1), len(wanted) - 1)
        gains = np.minimum(wanted[at] - means, _LOUDER)
        places = np.arange(min(count * hop, len(held)) // codec.phases) / frames_each
        louder = [10 ** (np.interp(places, np.arange(count + 1), gain) / 20) for gain in gains]
        symbols = []
        for stream, factor in zip(held.T, louder, strict=True):
            values = codec.values_of(stream[: len(factor) * codec.phases])
            symbols.append(codec.quantised((values * factor[:, None]).astype(np.float32)))
        yield np.stack(symbols, 1).astype(np.int64)
        held, heard = held[count * hop :], heard[:, count * samples :]
        before, place = powers[:, count - 1 : count], place + count


def _sounds(wave: Wave, book: Codebook) -> tuple[Symbols, str]:
    """The codes of a wave (N,), and how near they are."""
    described = book.describe(wave)
    codes = book.codes(described)
    offsets = described - book.centres[codes - 1], book.centres - book.centres.mean(0)
    apart, spread = (float(np.linalg.norm(offset, axis=1).mean()) for offset in offsets)
    far = apart / max(spread, 1e-6)
    tune = "its tune" if far < _NEAR else "some of its tune" if far < 1 else "not its tune"
    return codes, (
        f"expect its rhythm and {tune}: its sounds are {far:.2f} from those that the model knows "
        "(its own recording: 0.1 to 0.3)"
    )


def _sung(notes: Floats, book: PitchBook) -> tuple[Symbols, str]:
    """The codes of semitones (frames,), in octaves that the model knows, and how many it knows."""
    sung, rounded = notes > 0, np.round(notes)
    known = [np.isin(rounded + 12 * n, book.notes)[sung].sum() for n in _OCTAVES]
    shares = np.array(known) / max(sung.sum(), 1)
    best = int(np.argmax(shares - _WORTH * np.abs(_OCTAVES)))
    said = f"{shares[best]:.0%} of its notes are among those that the model knows"
    if octaves := _OCTAVES[best]:
        said += f"; it is moved by {octaves:+d} octaves"
    return book.codes((notes + 12 * octaves * sung)[:, None]), said
