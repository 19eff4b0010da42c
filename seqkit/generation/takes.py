"""Takes: streams of sound that are made side by side, of which the best one is kept.

Best is the one whose largest distance from the recording, each divided by its limit, is the least.
So if any take sounds like its recording, which takes all of its distances within their limits, the
one that is kept does.
"""

import math
from collections.abc import Callable

import numpy as np

from seqkit.data.codecs import Codec, Quantiser
from seqkit.evaluation.likeness import RATE, SHORTEST
from seqkit.evaluation.recording import Judgement, Recording
from seqkit.foundation.errors import ConfigError
from seqkit.generation import sound_faults
from seqkit.generation.ending import streams_of
from seqkit.generation.engine import Blocks
from seqkit.generation.request import Request, Trained
from seqkit.symbols import Symbols

MOST = 100_000_000
"""Symbols of all takes, or loops, together, which are held in memory."""
_TOLD = 8  # takes whose distances are told, the best ones


def check(takes: int, length: int, codec: Codec, recording: Recording | None) -> None:
    """Refuse takes that cannot be made, or compared with what was learnt. Raises ConfigError."""
    if takes == 1:
        return
    if not isinstance(codec, Quantiser):
        raise ConfigError(f"takes={takes}: this model writes text: give streams={takes}")
    if recording is None:
        raise ConfigError(
            f"takes={takes}: this model keeps no recording to compare takes with (those with "
            f"labels keep none): give streams={takes}, and choose by ear"
        )
    if length * RATE < SHORTEST * codec.symbol_rate:
        raise ConfigError(
            f"takes={takes}: too short to compare with the recording: give at least "
            f"seconds={math.ceil(100 * SHORTEST / RATE) / 100:g}"
        )
    if takes * length > MOST:
        raise ConfigError(
            f"takes={takes}: takes are held in memory, at most {MOST:,} symbols of all: give "
            f"fewer, or at most seconds={100 * MOST // takes // codec.symbol_rate / 100:g}"
        )


def best(
    trained: Trained,
    request: Request,
    prompt: Symbols,
    blocks: Blocks,
    *,
    notice: Callable[[str], None],
) -> Blocks:
    """Hand on the best (N, 1) of takes that come in blocks (N, S), once all of them are made.

    `prompt` stands before it in the result. `notice` is told which one is best, how far all are
    from the recording, and its faults.
    """
    codec, recording = trained.codec, trained.recording
    assert isinstance(codec, Quantiser)
    assert recording is not None
    sounds = streams_of(blocks, codec)
    if not sounds:
        return
    judged = [recording.judged(trained.heard(s), codec.sample_rate) for s in sounds]
    worst = [_worst(judgement, recording) for judgement in judged]
    order = np.argsort(worst, kind="stable").tolist()
    kept, said = sounds[order[0]].astype(np.int64), judged[order[0]].words
    shares = ", ".join(f"take {n + 1} {worst[n]:.2f}" for n in order[:_TOLD])
    notice(
        f"take {order[0] + 1} of {request.takes} {said}; largest distance ÷ limit: {shares}"
        + " …" * (len(order) > _TOLD)
    )
    result: Blocks = iter([kept[:, None]])
    if request.like is None:
        result = sound_faults.watched(result, codec, prompt, notice, recording, take=order[0] + 1)
    yield from result


def _worst(judgement: Judgement, recording: Recording) -> float:
    """The largest distance of a take, divided by its limit; infinite of one too short."""
    if judgement.distances is None:
        return math.inf
    limits = recording.limits.known
    return max(far / limits[name] for name, far in judgement.distances.known.items())
