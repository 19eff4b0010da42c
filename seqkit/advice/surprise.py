"""How surprising a text is: its most surprising places, and a page that colours each symbol."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from seqkit.data import codecs
from seqkit.data.codecs import TextCodec
from seqkit.data.corpus import Part
from seqkit.evaluation.streaming import Stretch
from seqkit.foundation import wording
from seqkit.foundation.wording import visible
from seqkit.symbols import Floats

BEGINNING = 20_000
"""Symbols of a text that its page shows from the first on."""
ALTERNATIVES = 5
"""Symbols that the page shows beside each: those that were expected most."""
_APART = 120  # symbols from one surprising place to the next
_PEAKS = 20
_NEAR = 15  # symbols that are shown before and after a surprising one
_HOTTEST = 9  # bits, rounded down, from which on a symbol has the hottest colour
_NAMES = {" ": "space", "\n": "newline", "\t": "tab"}


def contents_of(codec: TextCodec) -> list[str | bytes]:
    """What each symbol of a codec stands for."""
    with codecs.failures(type(codec), "decode"):
        return [codec.decode([symbol]) for symbol in range(codec.size)]


def highest(
    known: Sequence[tuple[int, float]], begin: int, values: Floats, apart: int
) -> list[tuple[int, float]]:
    """At most 20 places and their values, the highest first, each `apart` from the others at least.

    They are among the known ones and the values (n,) of the places from `begin` on.
    """
    rows = [at + int(values[at : at + apart].argmax()) for at in range(0, len(values), apart)]
    found = [*known, *((begin + row, float(values[row])) for row in rows)]
    kept = list[tuple[int, float]]()
    for place, value in sorted(found, key=lambda peak: (-peak[1], peak[0])):
        if all(abs(place - other) >= apart for other, _ in kept):
            kept.append((place, value))
        if len(kept) == _PEAKS:
            break
    return kept


class Surprise:
    """Takes the stretches of a text in order; keeps how it begins, and its surprising places."""

    def __init__(
        self, part: Part, contents: Sequence[str | bytes], documents: Sequence[str]
    ) -> None:
        """`contents` says what each symbol stands for; `documents` as for `located`."""
        self._part, self._documents = part, documents
        self._texts = [
            content if isinstance(content, str) else content.decode("ascii", "backslashreplace")
            for content in contents
        ]
        self._peaks = list[tuple[int, float]]()
        self._nats = 0.0
        self._begin: Stretch | None = None

    def add(self, stretch: Stretch) -> None:
        """Take the next stretch."""
        if self._begin is None:
            self._begin = stretch.cut(0, min(BEGINNING, stretch.end))
        bits = stretch.nats / math.log(2)
        self._peaks = highest(self._peaks, stretch.begin, bits, _APART)
        self._nats += float(stretch.nats.sum(dtype=np.float64))

    def places(self, most: int) -> list[str]:
        """So many of the most surprising places in words, the most surprising first."""
        return [*map(self._in_words, self._peaks[:most])]

    def page(self, data: str, model: str) -> bytes:
        """The page, after the last stretch: one file that loads nothing."""
        assert self._begin is not None
        nats = self._nats / len(self._part)
        values = {
            "name": visible(data),
            "model": visible(model),
            "bits": f"{nats / math.log(2):.3f}",
            "nats": f"{nats:.3f}",
            "symbols": len(self._part),
            "hottest": _HOTTEST,
            "begin": [*self._shown(self._begin)],
            "places": self.places(len(self._peaks)),
        }
        return wording.page(Path(__file__).with_suffix(".html"), values)

    def _in_words(self, peak: tuple[int, float]) -> str:
        """Where a place is, its bits, and the symbols around it."""
        place, bits = peak
        name, offset = located(self._part, self._documents, place)
        begin = place - min(offset, _NEAR, place)
        symbols = self._part.symbols[begin : place + _NEAR + 1].tolist()
        shown = [visible(self._texts[symbol]) for symbol in symbols]
        shown[place - begin] = f"[{shown[place - begin]}]"
        text = "".join(shown).replace("\n", "\u21b5")
        return f"{name}, offset {offset:,}: {bits:.1f} bits: {text}"

    def _shown(self, span: Stretch) -> Iterator[tuple[str, str, str]]:
        """The text of each symbol, the CSS class of its colour, and what is told of it."""
        for index, symbol in enumerate(self._part.symbols[span.begin : span.end].tolist()):
            text = visible(self._texts[symbol])
            end = "\u21b5\n" if text == "\n" else text
            colour = min(int(span.nats[index] / math.log(2)), _HOTTEST)
            yield end, f"s{colour}", self._tooltip(symbol, span, index)

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


def located(part: Part, documents: Sequence[str], place: int) -> tuple[str, int]:
    """The document of a place in a part, and the place in it, from 0.

    Both are those in the corpus: a part may begin in the middle of a document. `documents` has the
    names of all, as far as they have some.
    """
    number = int(np.searchsorted(part.starts, place, side="right"))
    before, total = len(part.before) if number == 1 else 0, part.documents_before + number
    name = visible(documents[total - 1]) if documents else f"document {total}"
    return name, place - int(part.starts[number - 1]) + before


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.0005 else "under 0.1 %"
