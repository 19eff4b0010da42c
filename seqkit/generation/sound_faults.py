"""Watches sound while it is made: reports silence, clipping and loops, and redraws them.

A stream is judged by its last second:

- silence: no sample is louder than 1/500 of full scale;
- clipping: more than a quarter of the samples are at the lowest or the highest level;
- a loop: the levels repeat exactly with a period of at most half a second.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from seqkit.data.codecs import Quantiser
from seqkit.generation.engine import Blocks
from seqkit.symbols import Integers, Symbols

_QUIET = 1 / 500
_CLIPPED = 1 / 4
_FEWEST = 16  # levels; with fewer, quiet or outermost ones mean nothing
_MATCH = 16  # levels that must recur before a period is tried
_HEARD = 10  # seconds that a redrawn stream reads first


class Redraw(Protocol):
    """Draws a stream again."""

    def __call__(self, heard: Integers, *, whole: bool, stream: int, attempt: int) -> Blocks:
        """Blocks (N, 1) of what follows.

        Args:
            heard: (N,), what the stream has heard: at most its last seconds.
            whole: whether that is all it has heard since it began.
            stream: its number, from 0.
            attempt: from 1.
        """
        ...


def trouble(symbols: Integers, codec: Quantiser) -> str | None:
    """What is wrong with a second of sound (N,), if anything."""
    if len(symbols) < 2 * _MATCH:
        return None
    quiet = _QUIET
    if codec.levels >= _FEWEST:  # linear levels have none at zero: their silence is louder
        quiet = max(quiet, 1.01 * codec.gain * abs(codec.silence))
    levels = codec.levels_of(symbols)
    if np.abs(codec.frames(symbols)).max() * codec.gain < quiet:
        return "silence"
    outermost = (levels == 0) | (levels == codec.levels - 1)
    if codec.levels >= _FEWEST and np.mean(outermost) > _CLIPPED:
        return "clipping"
    windows = np.lib.stride_tricks.sliding_window_view(symbols, _MATCH)
    last = len(windows) - 1
    places = np.flatnonzero((windows[last - len(symbols) // 2 : last] == windows[last]).all(1))
    for period in (len(symbols) // 2 - places[::-1]).tolist():
        if np.array_equal(symbols[period:], symbols[:-period]):
            return "a loop"
    return None


def report(
    blocks: Blocks, codec: Quantiser, prompt: Symbols, notice: Callable[[str], None]
) -> Blocks:
    """Hand on every block at once, and report trouble after every full second."""
    second, before = codec.symbol_rate, len(prompt) / codec.symbol_rate
    source = _Buffer(())
    reported: dict[int, str | None] = {}
    done = 0
    for block in blocks:
        yield block
        source.add(block)
        while source.size >= second:
            for stream, symbols in enumerate(source.take(second).T):
                found = trouble(symbols, codec)
                if found and reported.get(stream) != found:
                    notice(f"stream {stream + 1}: {found} at {before + done / second:.1f} s")
                reported[stream] = found
            done += second


def redraw_trouble(
    blocks: Blocks,
    *,
    redraw: Redraw,
    codec: Quantiser,
    prompt: Symbols,
    retry: int,
    notice: Callable[[str], None],
) -> Blocks:
    """Hand on blocks a second or two late, streams in trouble redrawn from before it.

    On KeyboardInterrupt, what is still held back is handed on first.

    Args:
        blocks: (N, S), as they are drawn.
        redraw: draws one stream again.
        codec: of the symbols.
        prompt: what came before.
        retry: how often a stream is redrawn, at most.
        notice: told every time a stream runs into trouble.
    """
    second, before = codec.symbol_rate, len(prompt) / codec.symbol_rate
    source, mender = _Buffer(blocks), _Mender(redraw, codec, retry, notice)
    heard = prompt[-_HEARD * second :, None].astype(np.int64)
    before_held = len(prompt)  # symbols that each stream has had before `held`
    held: Integers | None = None
    done = 0
    try:
        while len(new := _next_rows(source, mender.redrawn, second)):
            held = new if held is None else np.concatenate([held, new])
            done += len(new)
            if heard.shape[1] != held.shape[1]:
                heard = np.repeat(heard, held.shape[1], axis=1)
            if len(held) >= second:
                whole = len(heard) == before_held
                mender.mend(held, heard, whole, before + (done - second) / second)
            ready = len(held) - len(new)
            before_held += ready
            heard = np.concatenate([heard, held[:ready]])[-_HEARD * second :]
            # Signals are handled at calls: none comes between cut and yield, no row is lost.
            late, held = held[:ready], held[ready:]
            if ready:
                yield late
    except KeyboardInterrupt:
        if held is not None:
            yield held
        rest = _take_rows(source, mender.redrawn, source.size)
        if len(rest):
            yield rest
        raise
    if held is not None:
        yield held


def seed_of(seed: int, stream: int, attempt: int) -> int:
    """The seed with which a stream is redrawn."""
    digest = hashlib.sha256(f"{seed} {stream} {attempt}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


class _Mender:
    """Redraws streams in trouble, as often as it may."""

    def __init__(
        self, redraw: Redraw, codec: Quantiser, retry: int, notice: Callable[[str], None]
    ) -> None:
        self.redrawn: dict[int, _Buffer] = {}
        self._redraw = redraw
        self._codec = codec
        self._retry = retry
        self._notice = notice
        self._attempts = Counter[int]()
        self._reported: dict[int, str] = {}

    def mend(self, held: Integers, heard: Integers, whole: bool, at: float) -> None:
        """Judge the last second of `held` (N, S), and redraw in place.

        Args:
            held: what may still be changed, a second or more.
            heard: (M, S), what came before it, at most the last seconds.
            whole: whether nothing came before that.
            at: seconds at which the last second begins.
        """
        for stream in range(held.shape[1]):
            while found := trouble(held[-self._codec.symbol_rate :, stream], self._codec):
                where = f"stream {stream + 1}: {found} at {at:.1f} s"
                if self._attempts[stream] >= self._retry:
                    if self._reported.get(stream) != found:
                        self._notice(where)
                    break
                self._attempts[stream] += 1
                attempt = self._attempts[stream]
                self._notice(f"{where}: drawn anew, {attempt} of {self._retry}")
                fresh = self._redraw(heard[:, stream], whole=whole, stream=stream, attempt=attempt)
                buffer = _Buffer(fresh)
                buffer.fill(len(held))
                held[:, stream] = buffer.take(len(held))[:, 0]
                self.redrawn[stream] = buffer
            self._reported[stream] = found or ""


class _Buffer:
    """Rows of blocks, taken as many at a time as are wanted."""

    def __init__(self, blocks: Iterable[Integers]) -> None:
        self._blocks = iter(blocks)
        self._kept: list[Integers] = []
        self.size = 0

    def add(self, block: Integers) -> None:
        self._kept.append(block)
        self.size += len(block)

    def fill(self, count: int) -> None:
        """Draw until `count` rows are here, or the blocks end."""
        while self.size < count and (block := next(self._blocks, None)) is not None:
            self.add(block)

    def take(self, count: int) -> Integers:
        """The next rows (N, S), a copy; fewer if there are fewer."""
        if not self._kept:
            return np.zeros((0, 1), np.int64)
        rows = np.concatenate(self._kept)
        self._kept = [rows[count:]]
        self.size = len(self._kept[0])
        return rows[:count]


def _next_rows(source: _Buffer, redrawn: dict[int, _Buffer], count: int) -> Integers:
    """The next rows (N, S) of all streams, drawn if need be."""
    source.fill(count)
    for buffer in redrawn.values():
        buffer.fill(min(count, source.size))
    return _take_rows(source, redrawn, count)


def _take_rows(source: _Buffer, redrawn: dict[int, _Buffer], count: int) -> Integers:
    """The rows (N, S) that all streams have, those of redrawn streams in their places."""
    count = min([count, source.size, *(buffer.size for buffer in redrawn.values())])
    rows = source.take(count)
    for stream, buffer in redrawn.items():
        rows[:, stream] = buffer.take(count)[:, 0]
    return rows
