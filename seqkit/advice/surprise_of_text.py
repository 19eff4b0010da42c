"""How surprising a text is: its most surprising places, and a page that colours each symbol."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seqkit.data import codecs
from seqkit.data.codecs import TextCodec
from seqkit.data.corpus import Part
from seqkit.evaluation.surprise import Peak, Peaks, Stretch, position
from seqkit.foundation import templates
from seqkit.foundation.wording import visible

BEGINNING = 20_000
"""Symbols of a text that its page shows from the first on."""
ALTERNATIVES = 5
"""Symbols that the page shows beside each: those that were expected most."""
_PLACES = 20  # on the page
_AROUND = 60  # symbols before and after a surprising one
_NEAR = 15  # those that a notice shows
_HOTTEST = 9  # bits, rounded down, from which on a symbol has the hottest colour
_NAMES = {" ": "space", "\n": "newline", "\t": "tab"}


class Names(NamedTuple):
    """What heads a page: the data and the checkpoint."""

    data: str
    model: str

    def values(self, nats: float) -> dict[str, str]:
        """What the template of either page is given of them, and of the mean nats a symbol."""
        return {
            "name": visible(self.data),
            "model": visible(self.model),
            "bits": f"{nats / math.log(2):.3f}",
            "nats": f"{nats:.3f}",
        }


def contents_of(codec: TextCodec) -> list[str | bytes]:
    """What each symbol of a codec stands for."""
    with codecs.failures(type(codec), "decode"):
        return [codec.decode([symbol]) for symbol in range(codec.size)]


def name_of(documents: Sequence[str], number: int) -> str:
    """What the document of a number, from 1, is called."""
    return documents[number - 1] if documents else f"document {number}"


def text_of(content: str | bytes) -> str:
    """What a symbol stands for as text; a byte that is no ASCII as \\xe9."""
    return content if isinstance(content, str) else content.decode("ascii", "backslashreplace")


class SurpriseOfText:
    """Takes the stretches of a text in order; keeps its beginning and its surprising places."""

    def __init__(
        self, part: Part, contents: Sequence[str | bytes], documents: Sequence[str]
    ) -> None:
        """`contents` says what each symbol stands for.

        `documents` names those of the corpus, as far as they have names.
        """
        self._part, self._documents = part, documents
        self._texts = [text_of(content) for content in contents]
        self._newlines = np.array([text.count("\n") for text in self._texts], np.int64)
        self._peaks = Peaks[Stretch](_PLACES, 2 * _AROUND)
        self._nats = 0.0
        self._begin: Stretch | None = None

    def add(self, stretch: Stretch) -> None:
        """Take the next stretch."""
        if self._begin is None:
            self._begin = stretch.cut(0, min(BEGINNING, stretch.end))

        def around(place: int) -> Stretch:
            starts = self._part.starts
            document = int(starts[np.searchsorted(starts, place, side="right") - 1])
            begin = max(document, stretch.begin, place - _AROUND)
            end = min(place + _AROUND + 1, stretch.end)
            return stretch.cut(begin, end)

        self._peaks.add(stretch.begin, stretch.nats, around)
        self._nats += float(stretch.nats.sum(dtype=np.float64))

    def places(self, most: int) -> list[str]:
        """So many of the most surprising places in words, the most surprising first."""
        return [self._in_words(peak) for peak in self._peaks.highest[:most]]

    def page(self, names: Names) -> bytes:
        """The page, after the last stretch: one file that loads nothing."""
        assert self._begin is not None
        values = {
            **names.values(self._nats / len(self._part)),
            "symbols": len(self._part),
            "hottest": _HOTTEST,
            "begin": [*self._shown(self._begin)],
            "places": [
                (
                    visible(self._where(peak.place)),
                    f"{peak.value / math.log(2):.1f}",
                    [*self._shown(peak.kept, peak.place)],
                )
                for peak in self._peaks.highest
            ],
        }
        return templates.render(Path(__file__).with_suffix(".html"), values)

    def _where(self, place: int) -> str:
        document, line, column = position(self._part, self._newlines, place)
        there = f"line {line}, column {column}"
        if self._part.documents == 1:
            return there
        return f"{name_of(self._documents, document)}, {there}"

    def _in_words(self, peak: Peak[Stretch]) -> str:
        begin = max(peak.kept.begin, peak.place - _NEAR)
        end = min(peak.kept.end, peak.place + _NEAR + 1)
        shown = [visible(self._texts[symbol]) for symbol in self._part.symbols[begin:end].tolist()]
        shown[peak.place - begin] = f"[{shown[peak.place - begin]}]"
        text = "".join(shown).replace("\n", "\u21b5")
        return f"{visible(self._where(peak.place))}: {peak.value / math.log(2):.1f} bits: {text}"

    def _shown(self, span: Stretch, mark: int = -1) -> Iterator[tuple[str, str, str]]:
        """The text, the CSS classes and what is told of each symbol; that at `mark` is marked."""
        for index, symbol in enumerate(self._part.symbols[span.begin : span.end].tolist()):
            marked = " mark" if span.begin + index == mark else ""
            text = visible(self._texts[symbol])
            end = "\u21b5\n" if text == "\n" else text
            colour = min(int(span.nats[index] / math.log(2)), _HOTTEST)
            yield end, f"s{colour}{marked}", self._tooltip(symbol, span, index)

    def _tooltip(self, symbol: int, span: Stretch, index: int) -> str:
        """The surprise of a symbol, and what was expected in its place."""
        nats = float(span.nats[index])
        tip = f"{self._name(symbol)}: {nats / math.log(2):.1f} bits, {_percent(math.exp(-nats))}"
        expected = zip(span.likeliest[index].tolist(), span.chances[index].tolist(), strict=True)
        alternatives = [f"{self._name(other)} {_percent(p)}" for other, p in expected]
        return f"{tip}\nexpected: {'   '.join(alternatives)}"

    def _name(self, symbol: int) -> str:
        text = self._texts[symbol]
        return _NAMES.get(text, visible(text))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.0005 else "under 0.1 %"
