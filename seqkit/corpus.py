"""A corpus is a row of symbols cut into documents, and its parts."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seqkit.codecs import Codec, Symbols

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """A stretch of a corpus: symbols (N,), and where its documents start, the first at 0 (D,)."""

    symbols: Symbols
    starts: Integers

    def __len__(self) -> int:
        return int(self.symbols.size)


@dataclass(frozen=True)
class Corpus:
    """Encoded data: what `Part` says of all of it, and where it came from.

    `sha256` is the digest of the raw data; `skipped` counts what was left out in encoding.
    """

    whole: Part
    codec: Codec
    name: str
    sha256: str
    skipped: int = 0

    def split(self, fractions: list[float]) -> tuple[Part, Part, Part]:
        """Training, validation and test parts by position; a part may be empty.

        A document that is cut goes on as a new document in the next part.
        """
        n = len(self.whole)
        first = int(n * fractions[0])
        second = first + round(n * fractions[1]) if fractions[2] else n
        return self._cut(0, first), self._cut(first, second), self._cut(second, n)

    def _cut(self, begin: int, end: int) -> Part:
        starts = self.whole.starts
        inside = starts[(starts > begin) & (starts < end)] - begin
        starts = np.concatenate([[0], inside]) if end > begin else inside
        return Part(self.whole.symbols[begin:end], starts.astype(np.int64))
