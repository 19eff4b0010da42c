"""A corpus is a row of symbols cut into documents, and its parts."""

from dataclasses import dataclass

import numpy as np

from seqkit.data.codecs import Codec
from seqkit.symbols import Integers, Symbols


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

    `sha256` is the digest of the raw data; `skipped` counts what was left out in encoding, and
    `notes` tell the user about it. With `whole_documents` no document is cut by a split. From the
    symbol `held_out` on stand the documents of the data set's own test part. `snr` is the signal
    to noise ratio of quantising, in decibels.
    """

    whole: Part
    codec: Codec
    name: str
    sha256: str
    skipped: int = 0
    notes: tuple[str, ...] = ()
    whole_documents: bool = False
    held_out: int | None = None
    snr: float | None = None

    def split(self, fractions: list[float]) -> tuple[Part, Part, Part]:
        """Training, validation and test parts in the order of the symbols; a part may be empty.

        A document that is cut goes on as a new document in the next part. Where the data set has a
        test part of its own, the first two fractions share the rest.
        """
        training, validation, test = fractions
        if self.held_out is not None:
            end, test = self.held_out, 0.0
            training, validation = (x / (training + validation) for x in (training, validation))
        else:
            end = len(self.whole)
        first = int(end * training)
        second = first + round(end * validation) if test else end
        if not validation and not test:
            first = end
        if self.whole_documents and end:
            first, second = self._between_documents(first, second, end, validation > 0, test > 0)
        return self._cut(0, first), self._cut(first, second), self._cut(second, len(self.whole))

    def _between_documents(
        self, first: int, second: int, end: int, validation: bool, test: bool
    ) -> tuple[int, int]:
        """The nearest places that cut no document and leave every wanted part at least one."""
        edges = np.append(self.whole.starts[self.whole.starts < end], end)
        i, j = (int(np.abs(edges - place).argmin()) for place in (first, second))
        j = max(min(j, len(edges) - 1 - test), 1)
        i = max(min(i, j - validation), 1)
        return int(edges[i]), int(edges[j])

    def _cut(self, begin: int, end: int) -> Part:
        starts = self.whole.starts
        inside = starts[(starts > begin) & (starts < end)] - begin
        starts = np.concatenate([[0], inside]) if end > begin else inside
        return Part(self.whole.symbols[begin:end], starts.astype(np.int64))
