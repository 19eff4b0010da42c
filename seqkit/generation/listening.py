"""Says what was made: sound like its recording, text that recites; keeps the best of takes.

Of many streams the first 16 are judged, and of each the first minute. Models with labels keep
nothing of their recording, nor do models of one that is silent or too short, and nothing is said of
theirs.

Takes are streams that are made side by side, of which the best one is kept, as `Recording.place`
says.
"""

import math
from collections.abc import Callable

import numpy as np

from seqkit.data.codecs import Codec
from seqkit.evaluation.hearing import LOW, SHORTEST
from seqkit.evaluation.recited import Index, Recital
from seqkit.evaluation.recording import Recording
from seqkit.foundation.errors import ConfigError
from seqkit.generation.request import Trained
from seqkit.generation.sampler import Blocks, streams_of
from seqkit.symbols import Integers, Symbols

_RECITED = 1 << 22  # symbols of all streams that are told of, the first ones
_JUDGED, _STREAMS = 60, 16  # seconds from the beginning, and streams from the first


def judged(blocks: Blocks, trained: Trained, notice: Callable[[str], None]) -> Blocks:
    """Hand on every block (N, S) at once, and judge each stream, as it is heard, in the end.

    `notice` is told what is found, even if no more blocks are taken.
    """
    codec, recording, known = trained.codec, trained.recording, list[Integers]()
    assert codec.kind == "audio"
    assert recording is not None
    left = _JUDGED * codec.symbol_rate
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


def recited(
    blocks: Blocks, index: Index, prompt: Symbols, tell: Callable[[Recital], object]
) -> Blocks:
    """Hand on every block (N, S) at once; `tell` hears after the last how much of them recites."""
    made, left = list[Integers](), _RECITED
    for block in blocks:
        yield block
        made += [block] * (left > 0)
        left -= block.size
    streams = streams_of(made, index.codec)
    if said := index.recital([index.knows(stream, prompt) for stream in streams]):
        tell(said)


def check(takes: int, length: int, codec: Codec, recording: Recording | None) -> None:
    """Refuse takes that cannot be made, or compared with what was learnt. Raises ConfigError."""
    if takes == 1:
        return
    if codec.kind != "audio":
        raise ConfigError(f"takes={takes}: this model writes text: give streams={takes}")
    if recording is None:
        raise ConfigError(
            f"takes={takes}: this model keeps no recording to compare takes with (it learnt "
            "labels, or its recording is silent or too short): give "
            f"streams={takes}, and choose by ear"
        )
    if length * LOW < SHORTEST * codec.symbol_rate:
        raise ConfigError(
            f"takes={takes}: too short to compare with the recording: give at least "
            f"seconds={math.ceil(100 * SHORTEST / LOW) / 100:g}"
        )


def best(blocks: Blocks, trained: Trained, notice: Callable[[str], None]) -> Blocks:
    """Hand on the best (N, 1) of takes that come in blocks (N, S), once all of them are made.

    `notice` is told which one is best, and how far all are from the recording.
    """
    codec, recording = trained.codec, trained.recording
    assert codec.kind == "audio"
    assert recording is not None
    sounds = streams_of(blocks, codec)
    if not sounds:
        return
    judged = [recording.judged(codec.decode(s), codec.sample_rate) for s in sounds]
    takes = {f"take {number}": said for number, said in enumerate(judged, 1)}
    kept, shown = recording.best_of(takes)
    notice(f"{kept} of {len(sounds)} {takes[kept].words}; {shown}")
    yield sounds[[*takes].index(kept)].astype(np.int64)[:, None]
