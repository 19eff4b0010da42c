"""Watches sound while it is made: reports silence, clipping and loops.

Every second of a stream is judged:

- silence: its samples differ by less than 1/250 of full scale;
- clipping: more than a quarter of the samples are at the lowest or the highest level;
- a loop: the first half second recurs exactly within the second.

A whole stream without such faults is judged by its level, too.
"""

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from seqkit.data.codecs import Quantiser
from seqkit.generation.engine import Blocks
from seqkit.symbols import Integers, Symbols

_SILENT = 1 / 250
_FAINT = 1 / 50  # RMS of a stream; recordings have a tenth and more
_CLIPPED = 1 / 4
_FEWEST = 16  # levels; with fewer, the outermost ones mean nothing


def trouble(symbols: Integers, codec: Quantiser) -> str | None:
    """What is wrong with a second of sound (N,), if anything."""
    if (np.ptp(codec.frames(symbols), 0) * codec.gain < _SILENT).all():
        return "silence"
    levels = codec.levels_of(symbols)
    outermost = (levels == 0) | (levels == codec.levels - 1)
    if codec.levels >= _FEWEST and np.mean(outermost) > _CLIPPED:
        return "clipping"
    content = symbols.tobytes()
    return "a loop" if content.find(content[: len(content) // 2], symbols.itemsize) > 0 else None


def report(
    blocks: Blocks, codec: Quantiser, prompt: Symbols, notice: Callable[[str], None]
) -> Blocks:
    """Hand on every block (N, S) at once, and report trouble after every full second.

    Args:
        blocks: as they are drawn.
        codec: of the symbols.
        prompt: what came before.
        notice: told once of each kind of trouble that a stream runs into.
    """
    second, at = codec.symbol_rate, len(prompt) / codec.symbol_rate
    rows: Integers | None = None
    reported: dict[int, str | None] = {}
    powers = defaultdict[int, list[float]](list)
    for block in blocks:
        yield block
        rows = block if rows is None else np.concatenate([rows, block])
        while len(rows) >= second:
            for stream, symbols in enumerate(rows[:second].T):
                found = trouble(symbols, codec)
                if found and reported.get(stream) != found:
                    notice(f"stream {stream + 1}: {found} at {at:.1f} s")
                reported[stream] = found
                power = np.nan if found else np.square(codec.frames(symbols) * codec.gain).mean()
                powers[stream].append(float(power))
            rows, at = rows[second:], at + 1
    for stream, seconds in powers.items():
        level = np.mean(seconds) ** 0.5
        if level < _FAINT:  # not so of NaN
            notice(
                f"stream {stream + 1} is quiet, its RMS is {level:.3f} of full scale: "
                "a higher temperature may be louder"
            )
