"""A corpus is a row of symbols cut into documents, and its parts."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.data.codecs import Codec
from seqkit.data.labels import Labels, distinct
from seqkit.foundation.errors import ConfigError
from seqkit.symbols import Integers, Symbols

_BLOCK = 1 << 20  # symbols read at a time
_PICKED = 1 << 28  # symbols, of which documents are put together anew


@dataclass(frozen=True)
class Part:
    """A stretch of a corpus.

    symbols: (N,), in memory or in a file that is mapped into it: they are only read.
    starts: where its documents start, (D,), the first at 0.
    frame: how many symbols make a frame of sound, 1 of text. Every document has whole ones, so that
        a network can tell from the symbols since a document, a lane or a segment began where in a
        frame it is: nothing may begin within one.
    labels: of each document, (D, K); see `Labels`. None: there are no labels.
    """

    symbols: Symbols
    starts: Integers
    frame: int = 1
    labels: Integers | None = None

    def labels_at(self, places: Integers) -> Integers | None:
        """The labels (T, B, K) of the documents at places (T, B), if there are any."""
        if self.labels is None:
            return None
        return self.labels[np.searchsorted(self.starts, places, side="right") - 1]

    @classmethod
    def of(cls, *documents: Symbols, frame: int = 1) -> "Part":
        """The part that consists of some documents, each (N,) and not empty.

        `frame` is 1, or of sound the codec's `phases`.

        Raises:
            ConfigError: there are none, or one of them is no such array.
        """
        for number, symbols in enumerate(documents):
            if not isinstance(symbols, np.ndarray) or symbols.ndim != 1 or not symbols.size:
                raise ConfigError(f"document {number}: expected symbols (N,), N at least 1")
            if symbols.dtype not in (np.uint8, np.uint16, np.uint32):
                raise ConfigError(
                    f"document {number}: expected uint8, uint16 or uint32, as a codec's encode "
                    f"gives them, got {symbols.dtype}"
                )
        if not documents:
            raise ConfigError("a part has at least one document")
        lengths = [len(symbols) for symbols in documents]
        starts = np.cumsum([0, *lengths[:-1]], dtype=np.int64)
        return cls(np.concatenate(documents), starts, frame=frame)

    def __len__(self) -> int:
        return int(self.symbols.size)

    def and_then(self, *others: "Part") -> "Part":
        """It, and the documents of others with the same frame after its own."""
        parts = [self, *(part for part in others if len(part))]
        begins = np.cumsum([0, *map(len, parts)])
        labels = [part.labels for part in parts if part.labels is not None]
        return replace(
            self,
            symbols=np.concatenate([part.symbols for part in parts]),
            starts=np.concatenate([p.starts + b for p, b in zip(parts, begins[:-1], strict=True)]),
            labels=np.concatenate(labels) if labels else None,
        )

    def whole_frames(self, length: int) -> int:
        """So many symbols, or the few more that make whole frames."""
        return -(-length // self.frame) * self.frame

    @property
    def is_constant(self) -> bool:
        """Whether it is the same symbol again and again."""
        blocks, first = range(0, len(self), _BLOCK), self.symbols[:1]
        return all(bool((self.symbols[at : at + _BLOCK] == first).all()) for at in blocks)


@dataclass(frozen=True)
class Corpus:
    """Encoded data: all of it as a `Part`, and where it came from.

    sha256, bytes: the digest and the size of the raw data.
    skipped: how many characters, or files of sound, were left out.
    clipped: how many samples of sound were over 1.
    odd: which files of sound are not as one expects, by what is said of them.
    unreadable_files: how many files were left out because they cannot be read.
    notes: what the user is told about it.
    files: what the files are called, and how many documents each has.
    labels: those of its documents, if there are any.
    whole_documents: a split cuts no document.
    validation_start, test_start: the first symbol of the data set's own validation and test part,
        which stand last, in this order; None without one.
    readings: further rows of symbols of the same documents, of sound in frames: each has them a
        part of a frame later.
    stand_in: the file that was read because the data set could not be had.
    """

    whole: Part
    codec: Codec
    name: str
    sha256: str
    bytes: int = 0
    skipped: int = 0
    clipped: int = 0
    odd: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unreadable_files: int = 0
    notes: tuple[str, ...] = ()
    files: tuple[tuple[str, int], ...] = ()
    labels: Labels | None = None
    whole_documents: bool = False
    validation_start: int | None = None
    test_start: int | None = None
    readings: tuple[Symbols, ...] = ()
    stand_in: Path | None = None

    def record(self) -> dict[str, Any]:
        """What a checkpoint keeps of its data."""
        record: dict[str, Any] = {"name": self.name, "sha256": self.sha256, "bytes": self.bytes}
        if self.labels is not None:
            record["labels"] = self.labels.summary
        return record

    def split(self, fractions: list[float]) -> tuple[Part, Part, Part]:
        """Training, validation and test parts; a part may be empty.

        Parts of the data set's own are taken as they are, and the other fractions share the rest
        by position, in this order. Of text they take some of every label, and of a list, unless it
        has very many symbols, some from everywhere. A document that is cut goes on as a new
        document in the next part.
        """
        training, validation, test = fractions
        end = len(self.whole)
        own_test = own_validation = None
        if self.test_start is not None:
            own_test, end, test = self._cut(self.test_start, end), self.test_start, 0.0
        if self.validation_start is not None:
            own_validation = self._cut(self.validation_start, end)
            end, validation = self.validation_start, 0.0
        if own_test or own_validation:
            rest = training + validation + test
            training, validation, test = (x / rest for x in (training, validation, test))
        is_list = self.whole_documents and len(self.whole) <= _PICKED
        if self.codec.kind != "audio" and (self.whole.labels is not None or is_list):
            parts = self._pick(end, training, validation)
        else:
            first, second = self._places(end, training, validation, test)
            parts = self._cut(0, first), self._cut(first, second), self._cut(second, end)
        return parts[0], own_validation or parts[1], own_test or parts[2]

    def _pick(self, end: int, training: float, validation: float) -> tuple[Part, Part, Part]:
        """The fractions of what has the same labels, among the first `end` symbols.

        Of a list, which may be sorted, documents are taken by chance, and whole if they suffice.
        """
        whole, begins = self.whole, self.whole.starts[self.whole.starts < end]
        lengths, order = np.diff(np.append(begins, end)), np.arange(len(begins))
        labels = None if whole.labels is None else whole.labels[: len(begins)]
        kinds = np.zeros(len(begins), int) if labels is None else distinct(labels)[1]
        if self.whole_documents:
            order = np.random.default_rng(0).permutation(order)
        edges = np.zeros((4, len(begins)), np.int64)  # in each document, of the parts
        order = order[np.argsort(kinds[order], kind="stable")]
        for group in np.split(order, np.flatnonzero(np.diff(kinds[order])) + 1):
            after = np.cumsum(lengths[group])
            total = int(after[-1])
            second = round(total * (training + validation))
            for number, edge in enumerate((0, int(total * training), second, total)):
                edges[number, group] = np.clip(edge - after + lengths[group], 0, lengths[group])
        whole_ones = np.where(2 * edges > lengths, lengths, 0)
        kept, filled = (np.diff(each.sum(1)) > 0 for each in (whole_ones, edges))
        if self.whole_documents and (kept == filled).all():
            edges = whole_ones
        parts = []
        for begin, stop in itertools.pairwise(edges):
            kept = stop > begin
            sizes = (stop - begin)[kept]
            symbols = stretches(whole.symbols, (begins + begin)[kept], (begins + stop)[kept])
            starts = np.cumsum(sizes) - sizes
            parts.append(Part(symbols, starts, labels=None if labels is None else labels[kept]))
        return parts[0], parts[1], parts[2]

    def _places(self, end: int, training: float, validation: float, test: float) -> tuple[int, int]:
        """Where the validation and the test part begin among the first `end` symbols."""
        frame = self.whole.frame
        first = int(end * training) // frame * frame
        second = first + round(end * validation) // frame * frame if test else end
        if not validation and not test:
            first = end
        if self.whole_documents and end:
            return self._between_documents(first, second, end, validation > 0, test > 0)
        return first, second

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
        first = int(np.searchsorted(self.whole.starts, begin, side="right")) - 1
        last = int(np.searchsorted(self.whole.starts, end)) if end > begin else first
        starts = self.whole.starts[first:last]
        if begin:
            starts = starts - begin
            starts[:1] = 0  # a document that is cut
        labels = None if self.whole.labels is None else self.whole.labels[first:last]
        return Part(self.whole.symbols[begin:end], starts, self.whole.frame, labels)


def stretches(row: Symbols, begins: Integers, ends: Integers) -> Symbols:
    """Some stretches of a row, (S,) places each, which rise, in memory one after the other."""
    joined = np.flatnonzero(begins[1:] == ends[:-1])  # which are copied at once
    begins, ends = np.delete(begins, joined + 1), np.delete(ends, joined)
    places = zip(begins.tolist(), ends.tolist(), strict=True)
    return np.concatenate([row[:0], *(row[begin:end] for begin, end in places)])
