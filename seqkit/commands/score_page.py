"""What `score` tells of a text, or of sound, gathered while its symbols are scored."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from seqkit.data import codecs
from seqkit.data.codecs import Quantiser, TextCodec
from seqkit.data.corpus import Part
from seqkit.evaluation.baseline_names import noun
from seqkit.evaluation.lines import Lines, Position
from seqkit.evaluation.peaks import Peak, Peaks
from seqkit.evaluation.surprise import Stretch
from seqkit.foundation.escaping import visible
from seqkit.report.heat_map import HeatMap, Passage, Place
from seqkit.report.sound_map import Columns, Excerpt, SoundMap

BEGINNING = 20_000
"""Symbols of a text that its page shows from the first on."""
_PLACES = 20  # on the page of a text
_AROUND = 60  # symbols before and after a surprising one
_NEAR = 15  # those that a notice shows
_EXCERPTS = 8  # on the page of a sound
_FRAME, _HALF = 0.05, 0.5  # seconds: where surprise is averaged, and around it what is played


class Names(NamedTuple):
    """What heads a page: the data, the checkpoint, and the cell that gives the colours, if any."""

    data: str
    model: str
    cell: str


class Scored(Protocol):
    """Takes the stretches of a part in order."""

    def add(self, stretch: Stretch) -> None:
        """The next stretch."""

    def places(self) -> list[str]:
        """The most surprising places in words, the most surprising first."""

    def page(self, names: Names) -> bytes:
        """The page, after the last stretch."""


def contents_of(codec: TextCodec) -> list[str | bytes]:
    """What each symbol of a codec stands for."""
    with codecs.failures(type(codec), "decode"):
        return [codec.decode([symbol]) for symbol in range(codec.size)]


def text_of(content: str | bytes) -> str:
    """What a symbol stands for as text; a byte that is no ASCII as \\xe9."""
    return content if isinstance(content, str) else content.decode("ascii", "backslashreplace")


class ScoredText:
    """The beginning of a text, and its most surprising places."""

    def __init__(self, part: Part, contents: Sequence[str | bytes]) -> None:
        """`contents` says what each symbol stands for."""
        self._part = part
        self._texts = [text_of(content) for content in contents]
        self._lines = Lines(part, contents)
        self._peaks = Peaks[tuple[Position, Passage]](_PLACES, 2 * _AROUND)
        self._nats = 0.0
        self._begin: Passage | None = None

    def add(self, stretch: Stretch) -> None:
        """See Scored."""
        if self._begin is None:
            self._begin = self._passage(stretch, 0, min(BEGINNING, stretch.end))

        def keep(place: int) -> tuple[Position, Passage]:
            begin = max(self._document(place), stretch.begin, place - _AROUND)
            end = min(place + _AROUND + 1, stretch.end)
            passage = self._passage(stretch, begin, end)._replace(mark=place - begin)
            return self._lines.position(place), passage

        self._peaks.add(stretch.begin, stretch.nats, keep)
        self._lines.advance(stretch.end)
        self._nats += float(stretch.nats.sum(dtype=np.float64))

    def places(self) -> list[str]:
        """See Scored."""
        return [self._in_words(peak) for peak in self._peaks.highest]

    def page(self, names: Names) -> bytes:
        """See Scored."""
        assert self._begin is not None
        places = [
            Place(self._where(peak.kept[0]), peak.value / math.log(2), peak.kept[1])
            for peak in self._peaks.highest
        ]
        return HeatMap(
            name=names.data,
            model=names.model,
            cell=names.cell,
            symbols=len(self._part),
            nats=self._nats,
            begin=self._begin,
            places=places,
            texts=self._texts,
        ).page()

    def _passage(self, stretch: Stretch, begin: int, end: int) -> Passage:
        return Passage(np.array(self._part.symbols[begin:end]), stretch.cut(begin, end))

    def _document(self, place: int) -> int:
        """Where the document of a place begins."""
        starts = self._part.starts
        return int(starts[np.searchsorted(starts, place, side="right") - 1])

    def _where(self, position: Position) -> str:
        document = f"document {position.document}, " if self._part.documents > 1 else ""
        return f"{document}line {position.line}, column {position.column}"

    def _in_words(self, peak: Peak[tuple[Position, Passage]]) -> str:
        position, passage = peak.kept
        shown = [visible(self._texts[symbol]) for symbol in passage.symbols.tolist()]
        begin = max(passage.mark - _NEAR, 0)
        before, after = shown[begin : passage.mark], shown[passage.mark + 1 :][:_NEAR]
        text = f"{''.join(before)}[{shown[passage.mark]}]{''.join(after)}".replace("\n", "\u21b5")
        return f"{self._where(position)}: {peak.value / math.log(2):.1f} bits: {text}"


class ScoredSound:
    """The curve of a sound, and its most surprising places."""

    def __init__(self, part: Part, codec: Quantiser) -> None:
        self._part = part
        self._codec = codec
        self._noun = noun(codec.kind, codec.symbols_per_sample)
        self._columns = Columns(len(part))
        self._peaks = Peaks[Excerpt](_EXCERPTS, int(2 * _HALF * codec.symbol_rate) + 1)
        self._nats = 0.0

    def add(self, stretch: Stretch) -> None:
        """See Scored."""
        symbols = self._part.symbols[stretch.begin : stretch.end]
        wave, rate = self._codec.along(symbols), self._codec.symbol_rate
        bits = stretch.nats / math.log(2)
        shown = stretch.activations if len(stretch.activations) else bits
        self._columns.add(stretch.begin, wave, shown)
        size = min(max(1, round(_FRAME * rate)), len(bits))
        count = len(bits) // size
        means = bits[: count * size].reshape(count, size).mean(axis=1)

        def keep(place: int) -> Excerpt:
            middle, half = place - stretch.begin + size // 2, int(_HALF * rate)
            around = wave[max(middle - half, 0) : middle + half]
            value = float(means[(place - stretch.begin) // size])
            return Excerpt(self._when(place), value, around.copy())  # of a whole stretch

        self._peaks.add(stretch.begin, means, keep, spacing=size)
        self._nats += float(stretch.nats.sum(dtype=np.float64))

    def places(self) -> list[str]:
        """See Scored."""
        found = [peak.kept for peak in self._peaks.highest]
        return [f"{place.when}: {place.bits:.2f} bits a {self._noun}" for place in found]

    def page(self, names: Names) -> bytes:
        """See Scored."""
        return SoundMap(
            name=names.data,
            model=names.model,
            cell=names.cell,
            noun=self._noun,
            sample_rate=self._codec.sample_rate,
            symbol_rate=self._codec.symbol_rate,
            symbols=len(self._part),
            nats=self._nats,
            columns=self._columns,
            places=[peak.kept for peak in self._peaks.highest],
        ).page()

    def _when(self, place: int) -> str:
        starts = self._part.starts
        own = int(np.searchsorted(starts, place, side="right"))
        earlier = len(self._part.before) if own == 1 else 0
        seconds = (place - int(starts[own - 1]) + earlier) / self._codec.symbol_rate
        number = self._part.documents_before + own
        return (f"document {number}, " if self._part.documents > 1 else "") + f"at {seconds:.2f} s"
