"""Files of sound become symbols, read in blocks, so that memory does not grow with the file."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from seqkit.config import DataConfig
from seqkit.data import codecs
from seqkit.data.codecs import Quantiser, SoundCodec, Spectral
from seqkit.data.files import Findings, Watch
from seqkit.data.sound import Frames
from seqkit.data.sound.reader import SoundReader
from seqkit.foundation.disk import OutputFile
from seqkit.symbols import Integers

SHORTEST = 0.02
"""Seconds; a clip below holds nothing to learn from."""
SILENT = 2.0**-15
"""The peak of a clip that holds nothing but the last bit of 16."""
OVER = "sample", "over 1 clipped"
_FRAMES = 1 << 16  # of sound, read at a time; with those of a training it takes twice as long


def encode_sound(
    name: str,
    file: Path,
    codec: SoundCodec,
    config: DataConfig,
    stream: OutputFile,
    count: Watch,
    skipped: int = 0,
) -> tuple[Integers, Findings]:
    """Write the symbols of a recording; those of one without sound are to be cut off again.

    `skipped` samples at its beginning are left out, and silence follows its end, as long.

    Returns:
        How many symbols it has, (1,), or (0,) if nothing is to be learnt from it. With them what
        was found in it, under its `name`.

    Raises BadFileError: it cannot be read; some of it may be written.
    """
    recording = SoundReader(file, centred=isinstance(codec, Spectral))
    rate, channels = codec.sample_rate, codec.channels
    found = Findings(counts=_conversions(recording, rate, channels, config))
    size, peak, left, encode = 0, 0.0, skipped, codec.encoder()
    silence = np.zeros((skipped, channels), np.float32)
    for frames in chain(frames_of(recording, rate, channels, config, count), [None]):
        with codecs.failures(type(codec), "encode"):
            symbols = encode(silence if frames is None else frames[left:], frames is None)
        stream.write(np.ascontiguousarray(symbols).data)
        size += symbols.size
        if frames is not None:
            left = max(left - len(frames), 0)
            peak = max(peak, float(np.abs(frames).max(initial=0)))
            if isinstance(codec, Quantiser):
                beyond = np.count_nonzero(np.abs(frames) * codec.gain > 1)
                found.counts[OVER] += int(beyond)
    silent = "silent" + " in its first track" * recording.has_more
    why = silent if peak < SILENT or not recording.varies else ""
    if size < SHORTEST * codec.symbol_rate:
        why = f"shorter than {SHORTEST * 1000:g} ms"
    if why:
        return np.array([], np.int64), Findings({name: why})
    found.odd = {said: [name] for said in recording.oddities}
    return np.array([size]), found


def frames_of(
    recording: SoundReader, rate: int, channels: int, config: DataConfig, count: Watch
) -> Iterator[Frames]:
    """The samples (n, C) of a file, in blocks, whose share of its bytes is told as read."""
    size, whole = recording.path.stat().st_size, recording.promised * rate
    read = counted = 0
    for block in recording.resampled(rate, channels, config.channel, _FRAMES):
        yield block
        read += len(block) * recording.sample_rate
        now = size * min(read, whole) // max(whole, 1)
        count(now - counted)
        counted = now
    count(size - counted)  # of a file whose length no header says


def _conversions(
    recording: SoundReader, rate: int, channels: int, config: DataConfig
) -> Counter[tuple[str, str]]:
    """In what a recording is brought to another form."""
    made = list[str]()
    if recording.sample_rate != rate:
        made.append(f"resampled from {recording.sample_rate} Hz to {rate} Hz")
    if recording.channels < channels:
        made.append("mono, read into both channels")
    if recording.channels > channels:
        how = "mixed from" if config.channel == "mix" else "read by one of"
        made.append(f"{how} {recording.channels} channels")
    return Counter(("", each) for each in made)
