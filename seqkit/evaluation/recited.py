"""How much of a text stands in the training data, of which an index is kept and nothing else.

It has a hash of every run of 50 symbols, and of each whole document that is shorter. Of more than
four million runs it has every s-th: runs of 49 + s symbols are found in any case.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from seqkit.data.codecs import Codec
from seqkit.data.corpus import Part
from seqkit.foundation.wording import counted, percent
from seqkit.symbols import Flags, Symbols

_RUN = 50
_MOST = 1 << 22  # hashes of runs, and of documents of each length, of 8 bytes each
_TOGETHER = 1 << 14  # that are computed at a time
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Recital(NamedTuple):
    """The share of samples that stands in the training data, its longest run, and in words."""

    share: float
    longest: int
    words: str


@dataclass(frozen=True)
class Index:
    """What is kept of a text: `hashes`, their `stride`, and how many documents are `short`."""

    codec: Codec
    kept: dict[str, npt.NDArray[Any]]

    @classmethod
    def of(cls, part: Part, codec: Codec) -> "Index":
        """The index of a part, which is read in blocks."""
        stride, lengths = -(-len(part) // _MOST), np.diff(part.starts, append=len(part))
        step, found = stride * _TOGETHER, list[npt.NDArray[np.uint64]]()
        for first in range(0, max(len(part) - _RUN, 0) + 1, step):
            found.append(hashes_of(runs(part.symbols[first : first + step + _RUN - 1])[::stride]))
        for length in range(1, _RUN):
            starts = part.starts[lengths == length, None][:_MOST]
            for first in range(0, len(starts), _TOGETHER):
                places = starts[first : first + _TOGETHER] + np.arange(length)
                found.append(hashes_of(part.symbols[places]))
        kept = {"stride": np.array(stride), "short": np.array((lengths < _RUN).sum())}
        return cls(codec, {**kept, "hashes": np.sort(np.concatenate(found))})

    def content(self, sha256: str) -> bytes:
        """A safetensors file of it; `sha256` is that of the data."""
        return safetensors.numpy.save(self.kept, {"sha256": sha256})

    @classmethod
    def read(cls, file: Path, codec: Codec, sha256: str | None) -> "Index | None":
        """What `content` was written to a file; None if it is not there, or of other data."""
        try:
            with safetensors.safe_open(file, "np") as stored:
                kept = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
                same = (stored.metadata() or {}).get("sha256") == sha256
            return cls(codec, kept) if same else None
        except (OSError, safetensors.SafetensorError):
            return None

    def knows(self, symbols: Symbols, prompt: Symbols) -> Flags:
        """Whether each symbol (N,) that follows a prompt stands in the training data.

        Fewer than 50 symbols stand there if the last 50 with the prompt do; or, where that is
        short, too, if both are a whole document.
        """
        found, known = np.zeros(len(symbols), bool), self.kept["hashes"]
        if not len(symbols):
            return found
        row = symbols if len(symbols) >= _RUN else np.concatenate([prompt, symbols])[-_RUN:]
        hashes = hashes_of(runs(row))
        for begin in np.flatnonzero(known[np.searchsorted(known[:-1], hashes)] == hashes):
            found[begin : begin + _RUN] = True
        return found

    def recital(self, samples: Sequence[Flags]) -> Recital | None:
        """What to say of samples, given what `knows` says of each; None if all are very short."""
        parts = [np.split(x, np.flatnonzero(np.diff(x)) + 1) for x in samples if len(x)]
        known = [len(run) for pieces in parts for run in pieces if run[0]]
        share, longest = sum(known) / max(sum(map(len, samples)), 1), max(known, default=0)
        least, copies = _RUN - 1 + int(self.kept["stride"]), ""
        if self.kept.get("short") and len(samples) > 1:
            whole = sum(len(x) > 0 and bool(x.all()) for x in samples)
            copies = f"{whole or 'none'} of {len(samples)} samples "
            copies += "is a copy: " if whole < 2 else "are copies: "
        if share:
            length = counted(longest, "character" if self.codec.kind == "text" else "byte")
            what = f"stands in the training data word for word (longest run {length})"
            return Recital(share, longest, f"{copies}{percent(share)} of this text {what}")
        if max(map(len, samples), default=0) >= least:
            what = f"stands in the training data in a run of {least} symbols or more"
            return Recital(0.0, 0, f"{copies}nothing of this text {what}")
        return Recital(0.0, 0, f"{copies[:-2]} of training data") if copies else None


def runs(row: Symbols) -> Symbols:
    """All runs of a row, (n, 50); of a shorter one it all, (1, N)."""
    return np.lib.stride_tricks.sliding_window_view(row, min(_RUN, len(row)))


def hashes_of(rows: Symbols) -> npt.NDArray[np.uint64]:
    """The hashes (n,) of rows (n, w) of symbols."""
    hashes = np.full(len(rows), _FACTOR)
    for column in rows.T:
        hashes = (hashes + column.astype(np.uint64)) * _FACTOR
        hashes ^= hashes >> np.uint64(29)
    return hashes
