"""A corpus is a row of symbols cut into documents; lanes lay its parts out for training."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seqkit.codecs import Codec, Symbols
from seqkit.errors import DataError

IGNORED = -100
"""The target of a padded place: it counts in no loss (PyTorch's `ignore_index`)."""

_FEWEST_STEPS = 8  # in an epoch, if need be with fewer lanes

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


@dataclass(frozen=True)
class Window:
    """What one training step sees: inputs and targets (T, B), and where the state is zeroed.

    `targets[t]` follows `inputs[t]`; where there is none it is `IGNORED`. `fresh` (B,) marks the
    lanes that start from the zero state, `resets` (T, B) the separators between documents.
    """

    inputs: Integers
    targets: Integers
    fresh: npt.NDArray[np.bool_]
    resets: npt.NDArray[np.bool_]
    count: int


class Lanes:
    """A part laid out as B contiguous lanes that are read T symbols at a time.

    The documents stand one after the other with a separator between them, a place without a
    target at which the state is zeroed. This row is cut into B runs, the last one padded. So
    every symbol is a target exactly once in an epoch, nothing of one document reaches another,
    and a lane goes on from what it read in the step before. The input before a document's first
    symbol is the codec's start symbol.
    """

    def __init__(self, part: Part, start: int, batch_size: int, sequence_length: int) -> None:
        """`start` is the codec's start symbol; batch_size is B, sequence_length T.

        Raises:
            DataError: the part holds fewer than two windows.
        """
        if len(part) < 2 * sequence_length:
            raise DataError(
                f"the training part has {len(part)} symbols, fewer than two windows of "
                f"train.sequence_length={sequence_length}: give more data or shorter windows"
            )
        self._part = part
        self._start = start
        self._length = sequence_length
        # Where each document begins and ends in the row: one separator before all but the first.
        before = np.arange(len(part.starts))
        self._begins = part.starts + before
        self._ends = np.append(part.starts[1:], len(part)) + before
        windows = -(-int(self._ends[-1]) // sequence_length)
        lanes = min(batch_size, max(1, windows // _FEWEST_STEPS))
        self.steps = -(-windows // lanes)
        """Windows that each lane reads in one epoch."""
        self.batch_size = -(-windows // self.steps)
        """B; less than was asked for where the part is small, so that lanes have state to carry."""
        self.has_separators = len(part.starts) > 1
        """Whether any window has resets."""

    def window(self, step: int) -> Window:
        """The window of a step; steps run on through the epochs."""
        step %= self.steps
        lane_begins = (np.arange(self.batch_size) * self.steps + step) * self._length
        places = lane_begins + np.arange(self._length)[:, None]
        document = np.searchsorted(self._begins, places, "right") - 1
        resets = (places == self._ends[document]) & (places < self._ends[-1])
        valid = places < self._ends[document]
        index = np.where(valid, places - document, 0)
        targets = self._part.symbols[index].astype(np.int64)
        targets[~valid] = IGNORED
        inputs = self._part.symbols[np.maximum(index - 1, 0)].astype(np.int64)
        inputs[places == self._begins[document]] = self._start
        fresh = np.full(self.batch_size, step == 0)
        return Window(inputs, targets, fresh, resets, int(valid.sum()))
