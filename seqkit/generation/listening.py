"""Says whether sound that was made is like its recording; keeps the best of several takes.

Of many streams the first 16 are judged, and of each the first minute. Models with labels keep
nothing of their recording, nor do models of one that is silent or too short, and nothing is said of
theirs.

Takes are streams that are made side by side, of which the best one is kept. Best is the one whose
largest distance from the recording, each divided by its limit, is the least. So if any take sounds
like its recording, which takes all of its distances within their limits, the one that is kept does.
"""

import math
from collections.abc import Callable

import numpy as np

from seqkit.data.codecs import Codec
from seqkit.evaluation.hearing import LOW, SHORTEST
from seqkit.evaluation.recording import Judgement, Recording
from seqkit.foundation.errors import ConfigError
from seqkit.generation.ending import streams_of
from seqkit.generation.engine import Blocks
from seqkit.generation.request import Trained
from seqkit.symbols import Integers

_TOLD = 8  # takes whose distances are told, the best ones
_JUDGED, _STREAMS = 60, 16  # seconds from the beginning, and streams from the first


def judged(
    blocks: Blocks, trained: Trained, recording: Recording, tell: Callable[[int, Judgement], None]
) -> Blocks:
    """Hand on every block (N, S) at once, and judge each stream, as it is heard, in the end.

    `tell` is called with each stream's number and what is found, even if no more blocks are taken.
    """
    codec, known = trained.codec, list[Integers]()
    assert codec.kind == "audio"
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
            tell(stream + 1, judgement)


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


def best(trained: Trained, blocks: Blocks, notice: Callable[[str], None]) -> Blocks:
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
    worst = [
        math.inf if found.distances is None else recording.worst(found.distances)
        for found in judged
    ]
    order = sorted(range(len(judged)), key=lambda number: recording.place(judged[number]))
    kept, said = sounds[order[0]].astype(np.int64), judged[order[0]].words
    shares = ", ".join(f"take {n + 1} {worst[n]:.2f}" for n in order[:_TOLD])
    notice(
        f"take {order[0] + 1} of {len(sounds)} {said}; largest distance ÷ limit: {shares}"
        + " …" * (len(order) > _TOLD)
    )
    yield kept[:, None]
