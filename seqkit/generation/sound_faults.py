"""Watches sound while it is made, and says in the end whether it is like its recording.

Of many streams the first 16 are looked at, and of each every second:

- silence: it is 20 dB quieter than any second of the recording;
- no tone: it has less than a quarter of the tones of any second of the recording, if that always
  has some;
- clipping: more than a quarter of the samples are at the lowest or the highest level;
- a loop: the first half second recurs exactly within the second, which it does in none of it.

Models with labels keep nothing of their recording. With them silence is samples that differ by less
than 1/250 of full scale, and nothing is said in the end.
"""

from collections.abc import Callable

import numpy as np

from seqkit.data.codecs import Quantiser
from seqkit.evaluation.recording import Judgement, Recording, loops
from seqkit.generation.ending import ENDED, streams_of
from seqkit.generation.engine import Blocks
from seqkit.generation.request import Trained
from seqkit.symbols import Integers, Symbols

_SILENT = 1 / 250
_CLIPPED = 1 / 4
_FEWEST = 16  # levels; with fewer, the outermost ones mean nothing
_JUDGED, _STREAMS = 60, 16  # seconds from the beginning, and streams from the first


def trouble(symbols: Integers, codec: Quantiser, recording: Recording | None) -> str | None:
    """What is wrong with a second of sound (N,), if anything."""
    if recording is not None:
        fault = recording.fault(codec.decode(symbols), codec.sample_rate)
        if fault:
            return fault
    levels = codec.levels_of(symbols)
    if recording is None and (np.ptp(codec.values[levels], 0) * codec.gain < _SILENT).all():
        return "silence"
    outermost = (levels == 0) | (levels == codec.levels - 1)
    if codec.levels >= _FEWEST and np.mean(outermost) > _CLIPPED:
        return "clipping"
    return "a loop" if loops(symbols) and not (recording and recording.loops) else None


def watched(
    blocks: Blocks,
    codec: Quantiser,
    prompt: Symbols,
    notice: Callable[[str], None],
    recording: Recording | None,
    *,
    take: int | None = None,
) -> Blocks:
    """Hand on every block (N, S) at once, and report trouble after every full second.

    Args:
        blocks: as they are drawn.
        codec: of the symbols.
        prompt: what came before.
        notice: told once of each kind of trouble that a stream runs into.
        recording: that the model learnt.
        take: the number of the only stream, if it is one of several takes.
    """
    second, at = codec.symbol_rate, len(prompt) / codec.symbol_rate
    rows: Integers | None = None
    reported: dict[int, str | None] = {}
    for block in blocks:
        yield block
        some = block[:, :_STREAMS]
        rows = some if rows is None else np.concatenate([rows, some])
        while len(rows) >= second:
            for stream, symbols in enumerate(rows[:second].T):
                if symbols[-1] == ENDED:
                    continue
                fault = trouble(symbols, codec, recording)
                if fault and reported.get(stream) != fault:
                    name = f"take {take}" if take else f"stream {stream + 1}"
                    notice(f"{name}: {fault} at {at:.1f} s")
                reported[stream] = fault
            rows, at = rows[second:], at + 1


def judged(
    blocks: Blocks, trained: Trained, recording: Recording, tell: Callable[[int, Judgement], None]
) -> Blocks:
    """Hand on every block (N, S) at once, and judge each stream, as it is heard, in the end.

    `tell` is called with each stream's number and what is found, even if no more blocks are taken.
    """
    codec, known = trained.codec, list[Integers]()
    assert isinstance(codec, Quantiser)
    left = _JUDGED * codec.symbol_rate
    try:
        for block in blocks:
            yield block
            if left > 0:
                known.append(block[:, :_STREAMS])
                left -= len(block)
    finally:
        for stream, symbols in enumerate(streams_of(known, codec)):
            judgement = recording.judged(trained.heard(symbols), codec.sample_rate)
            tell(stream + 1, judgement)
