"""How much of a sample stands in the training data, of which an index is kept and nothing else.

Of text it has a hash of every run of 50 symbols, and of each whole document that is shorter. Of
more than four million runs it has every s-th: runs of 49 + s symbols are found in any case. Sound
is drawn with other hiss each time: see `copied`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.corpus import Part
from seqkit.evaluation import copied
from seqkit.foundation.wording import counted, duration, percent
from seqkit.symbols import Integers, Symbols

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
    """What is kept: `prints` of sound; of text `hashes`, `stride`, how many documents are short."""

    codec: Codec
    kept: dict[str, npt.NDArray[Any]]

    @classmethod
    def of(cls, part: Part, codec: Codec) -> "Index":
        """The index of a part, which is read in blocks."""
        if isinstance(codec, Quantiser):
            return cls(codec, {"prints": copied.prints(part, codec)})
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

    def places(self, symbols: Symbols, prompt: Symbols) -> Integers:
        """Where each symbol (N,) that follows a prompt stands in the training data, -1: nowhere.

        Of text, of which hashes tell no place, that is 0. Fewer than 50 symbols stand there if the
        last 50 with the prompt do; or, where that is short, too, if both are a whole document.
        """
        if isinstance(self.codec, Quantiser):
            return copied.places(self.kept["prints"], symbols, self.codec)
        found, known = np.full(len(symbols), -1), self.kept["hashes"]
        if not len(symbols):
            return found
        row = symbols if len(symbols) >= _RUN else np.concatenate([prompt, symbols])[-_RUN:]
        hashes = hashes_of(runs(row))
        for begin in np.flatnonzero(known[np.searchsorted(known[:-1], hashes)] == hashes):
            found[begin : begin + _RUN] = 0
        return found

    def recital(self, samples: Sequence[Integers]) -> Recital | None:
        """What to say of samples, given the `places` (N,) of each; None if all are very short."""
        parts = [np.split(x, np.flatnonzero(np.diff(x < 0)) + 1) for x in samples if len(x)]
        known = [run for pieces in parts for run in pieces if run[0] >= 0]
        longest = max(known, key=len, default=np.zeros(1, np.int64))
        share, copies = sum(map(len, known)) / max(sum(map(len, samples)), 1), ""
        if isinstance(self.codec, Quantiser):
            rate = self.codec.symbol_rate
            least, what = round(copied.SHORTEST * rate), "sound is a copy of the recording"
            none = what
            length = f"{len(longest) / rate:.1f} s, from {duration(longest[0] / rate)} of it on"
        else:
            least, text = _RUN - 1 + int(self.kept["stride"]), self.codec.kind == "text"
            what = "text stands in the training data word for word"
            none = f"text stands in the training data in a run of {least} symbols or more"
            length = counted(len(longest), "character" if text else "byte")
            if self.kept.get("short") and len(samples) > 1:
                whole = sum(len(x) > 0 and x.min() >= 0 for x in samples)
                verb = "is a copy" if whole < 2 else "are copies"
                copies = f"{whole or 'none'} of {len(samples)} samples {verb}: "
        if share:
            words = f"{copies}{percent(share)} of this {what} (longest run {length})"
            return Recital(share, len(longest), words)
        if max(map(len, samples), default=0) >= least:
            return Recital(0.0, 0, f"{copies}nothing of this {none}")
        return Recital(0.0, 0, f"{copies[:-2]} of training data") if copies else None


def runs(row: Symbols, length: int = _RUN) -> Symbols:
    """All runs of a row, (n, length); of a shorter one it all, (1, N)."""
    return np.lib.stride_tricks.sliding_window_view(row, min(length, len(row)))


def hashes_of(rows: Symbols) -> npt.NDArray[np.uint64]:
    """The hashes (n,) of rows (n, w) of symbols."""
    hashes = np.full(len(rows), _FACTOR)
    for column in rows.T:
        hashes = (hashes + column.astype(np.uint64)) * _FACTOR
        hashes ^= hashes >> np.uint64(29)
    return hashes
