"""A watch over sound that is being made: silence, clipping and loops are told, and drawn anew.

A stream is judged by its last second:

- silence: no sample is louder than 1/500 of full scale;
- clipping: more than a quarter of the samples are at the lowest or the highest level;
- a loop: the levels repeat exactly with a period of at most half a second.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from seqkit.data.codecs import Quantiser
from seqkit.symbols import Symbols

Rows = npt.NDArray[np.int64]
Steps = Iterator[Rows]

_QUIET = 1 / 500
_CLIPPED = 1 / 4
_FEWEST = 16  # levels below which neither quiet nor outermost ones mean anything
_MATCH = 16  # levels that have to recur before a period is tried
_HEARD = 10  # seconds that a stream is given to read before it is drawn anew


def trouble(symbols: Rows, codec: Quantiser) -> str | None:
    """What is wrong with a second of sound (N,), if anything."""
    if len(symbols) < 2 * _MATCH:
        return None
    quiet = _QUIET
    if codec.size >= _FEWEST:  # linear levels have none at zero: theirs of silence is louder
        quiet = max(quiet, 1.01 * codec.gain * abs(float(codec.decode([codec.start])[0])))
    if np.abs(codec.decode(symbols)).max() * codec.gain < quiet:
        return "silence"
    outermost = (symbols == 0) | (symbols == codec.size - 1)
    if codec.size >= _FEWEST and np.mean(outermost) > _CLIPPED:
        return "clipping"
    windows = np.lib.stride_tricks.sliding_window_view(symbols, _MATCH)
    last = len(windows) - 1
    places = np.flatnonzero((windows[last - len(symbols) // 2 : last] == windows[last]).all(1))
    for period in (len(symbols) // 2 - places[::-1]).tolist():
        if np.array_equal(symbols[period:], symbols[:-period]):
            return "a loop"
    return None


def watched(
    steps: Steps,
    again: Callable[[Rows, int, int], Steps],
    codec: Quantiser,
    prompt: Symbols,
    retry: int,
    notice: Callable[[str], None],
) -> Steps:
    """Hand on the symbols (S,) of all streams, and tell of trouble.

    Args:
        steps: the streams as they are drawn.
        again: given what a stream has heard (N,), its number and the attempt, draws it anew: the
            symbols (1,) of one stream.
        codec: of the symbols.
        prompt: what came before.
        retry: how often a stream is drawn anew, from a second or two before the trouble; what is
            handed on then lags as far behind. 0: trouble is told only.
        notice: told every time a stream runs into trouble.
    """
    second = codec.sample_rate
    before = len(prompt) / second
    if not retry:
        yield from _told(steps, codec, before, notice)
        return
    others: dict[int, Steps] = {}
    attempts: Counter[int] = Counter()
    told: dict[int, str] = {}
    heard = held = None
    done = 0
    heard_before = prompt[-_HEARD * second :].astype(np.int64)
    while True:
        block: list[Rows] = []
        try:
            block.extend(_replace(row, others) for row in islice(steps, second))
        except KeyboardInterrupt:
            yield from [] if held is None else held
            yield from block
            raise
        if not block:
            break
        window = np.stack(block) if held is None else np.concatenate([held, block])
        done += len(block)
        if heard is None:
            heard = np.repeat(heard_before[:, None], window.shape[1], axis=1)
        for stream in range(window.shape[1]):
            full = len(window) >= second
            while found := trouble(window[-second:, stream], codec) if full else None:
                where = f"stream {stream + 1}: {found} at {before + (done - second) / second:.1f} s"
                if attempts[stream] >= retry:
                    if told.get(stream) != found:
                        notice(where)
                    break
                attempts[stream] += 1
                notice(f"{where}: drawn anew, {attempts[stream]} of {retry}")
                others[stream] = again(heard[:, stream], stream, attempts[stream])
                window[:, stream] = [row[0] for row in islice(others[stream], len(window))]
            told[stream] = found or ""
        ready = len(window) - len(block)
        yield from window[:ready]
        held = window[ready:]
        heard = np.concatenate([heard, window[:ready]])[-_HEARD * second :]
    if held is not None:
        yield from held


def _told(steps: Steps, codec: Quantiser, before: float, notice: Callable[[str], None]) -> Steps:
    """Hand every step on at once, and tell of trouble after every full second."""
    second = codec.sample_rate
    told: dict[int, str | None] = {}
    block: list[Rows] = []
    done = 0
    for row in steps:
        yield row
        block.append(row)
        if len(block) == second:
            for stream, symbols in enumerate(np.stack(block, axis=1)):
                found = trouble(symbols, codec)
                if found and told.get(stream) != found:
                    notice(f"stream {stream + 1}: {found} at {before + done / second:.1f} s")
                told[stream] = found
            done += second
            block.clear()


def _replace(row: Rows, others: dict[int, Steps]) -> Rows:
    """A step of all streams, those that were drawn anew in their places."""
    if others:
        row = row.copy()
        for stream, steps in others.items():
            row[stream] = next(steps)[0]
    return row


def seed_of(seed: int, stream: int, attempt: int) -> int:
    """The seed with which a stream is drawn anew."""
    digest = hashlib.sha256(f"{seed} {stream} {attempt}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
