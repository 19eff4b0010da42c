"""What becomes of sound that was drawn: loops, the best of takes, and a verdict in the end.

It is judged beside its recording. Of many streams the first 16 are judged, and of each the first
minute. Models with labels keep nothing of their recording, nor do models of one that is silent or
too short, and nothing is said of theirs.

Takes are streams that are made side by side, of which the best one is kept, as `Recording.place`
says.
"""

import math
from collections.abc import Callable

import numpy as np

from seqkit.data.codecs import Codec, SoundCodec, Spectral
from seqkit.evaluation.hearing import LOW, SHORTEST
from seqkit.evaluation.recording import Recording
from seqkit.foundation.errors import ConfigError
from seqkit.generation.sampler import ENDED, Blocks, streams_of
from seqkit.symbols import Integers, symbol_dtype

CHOICE, SHORTEST_LOOP = 2.0, 0.2
"""Seconds that are made beyond a loop, from which its beginning is chosen; and that it lasts."""
_JUDGED, _STREAMS = 60, 16  # seconds from the beginning, and streams from the first
_SHORTER = 0.05  # seconds, and at most a tenth, that a loop may be shorter than asked
_SEEN = 3  # frames on each side of a seam that are compared


def judged(
    blocks: Blocks, codec: SoundCodec, recording: Recording, notice: Callable[[str], None]
) -> Blocks:
    """Hand on every block (N, S) at once, and judge each stream, as it is heard, in the end.

    `notice` is told what is found, even if no more blocks are taken.
    """
    known, left = list[Integers](), _JUDGED * codec.symbol_rate
    try:
        for block in blocks:
            yield block
            if left > 0:
                known.append(block[:, :_STREAMS])
                left -= len(block)
    finally:
        for stream, symbols in enumerate(streams_of(known, codec)):
            judgement = recording.judged(codec.decode(symbols), codec.sample_rate)
            notice(f"stream {stream + 1} {judgement.words}")


def check(takes: int, length: int, codec: Codec, recording: Recording | None) -> None:
    """Refuse takes that cannot be made, or compared with what was learnt. Raises ConfigError."""
    if takes == 1:
        return
    fault = ""
    if codec.kind != "audio":
        fault = f"this model writes text: give streams={takes}"
    elif recording is None:
        fault = "this model keeps no recording to compare takes with (it learnt labels, or its "
        fault += f"recording is silent or too short): give streams={takes}, and choose by ear"
    elif length * LOW < SHORTEST * codec.symbol_rate:
        least = math.ceil(100 * SHORTEST / LOW) / 100
        fault = f"too short to compare with the recording: give at least seconds={least:g}"
    if fault:
        raise ConfigError(f"takes={takes}: {fault}")


def best(
    blocks: Blocks, codec: SoundCodec, recording: Recording, notice: Callable[[str], None]
) -> Blocks:
    """Hand on the best (N, 1) of takes that come in blocks (N, S), once all of them are made.

    `notice` is told which one is best, and how far it is from the recording.
    """
    sounds = streams_of(blocks, codec)
    if not sounds:
        return
    judged = [recording.judged(codec.decode(s), codec.sample_rate) for s in sounds]
    kept = min(range(len(sounds)), key=lambda take: recording.place(judged[take]))
    notice(f"take {kept + 1} of {len(sounds)} {judged[kept].words}")
    yield sounds[kept].astype(np.int64)[:, None]


def looped(blocks: Blocks, codec: Spectral, length: int) -> Blocks:
    """A loop of at most `length` symbols from each stream of blocks (N, S), as one block.

    More is made than is asked for, so that there is a choice of where the loop begins. Of all pairs
    of frames that lie as far apart as it lasts, or a little less, those are taken around which the
    sound differs the least to the ear: at rests, or where a note recurs. Where it is decoded, the
    end goes on into the beginning. The gains of that fade keep the level, however much the two are
    alike.
    """
    held = [block.astype(symbol_dtype(codec.size)) for block in blocks]
    if held:
        loops = [_loop(stream, codec, length // codec.phases) for stream in np.concatenate(held).T]
        rows = np.full((max(map(len, loops)), len(loops)), ENDED)
        for stream, loop in enumerate(loops):
            rows[: len(loop), stream] = loop
        yield rows


def _loop(symbols: Integers, codec: Spectral, size: int) -> Integers:
    """A loop of about `size` frames from symbols (N,); all whole ones if they are too few."""
    symbols = symbols[: len(symbols) // codec.phases * codec.phases]  # a signal may have ended them
    shorter = min(round(_SHORTER * codec.sample_rate / codec.hop), size // 10)
    rows, best = codec.rows(symbols), (np.inf, 0, len(symbols))
    for count in range(size - shorter, min(size, len(rows) - 2 * _SEEN) + 1):
        differing = np.square(rows[count:] - rows[: len(rows) - count]).sum(1)
        around = np.convolve(differing, np.ones(2 * _SEEN), "valid")
        if around.min() < best[0]:
            begin = int(around.argmin()) + _SEEN
            best = float(around.min()), begin, begin + count
    return symbols[best[1] * codec.phases : best[2] * codec.phases]
