"""A text as a heat map: each symbol in the colour of its surprise, or of one cell's activation."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seqkit.evaluation.surprise import Stretch
from seqkit.foundation.escaping import visible
from seqkit.report import template
from seqkit.symbols import Symbols

HOTTEST = 9
"""Bits of surprise, rounded down, from which on a symbol has the hottest colour."""
_STEPS = 5  # of the colours of an activation, on either side of 0
_NAMES = {" ": "space", "\n": "newline", "\t": "tab"}


class Passage(NamedTuple):
    """Symbols (n,) in a row and what a model made of them; `mark` is the index of one of them."""

    symbols: Symbols
    found: Stretch
    mark: int = -1


class Shown(NamedTuple):
    """A symbol on the page: its text, its CSS classes and what is told about it."""

    text: str
    classes: str
    told: str


class Place(NamedTuple):
    """A surprising place: where it is, its surprise in bits, and the passage around it."""

    where: str
    bits: float
    passage: Passage


@dataclass(frozen=True)
class HeatMap:
    """What the page tells.

    name: of the text.
    model: where the checkpoint is.
    symbols, nats: how many were scored, and the sum of their surprise.
    begin: the first of them.
    places: the most surprising ones.
    texts (V,): what each symbol stands for.
    cell: in words, the cell that gives the colours; empty where the surprise does.
    """

    name: str
    model: str
    symbols: int
    nats: float
    begin: Passage
    places: Sequence[Place]
    texts: Sequence[str]
    cell: str = ""

    def page(self) -> bytes:
        """The page, in one file that loads nothing."""
        bits = self.nats / math.log(2) / self.symbols
        classes = _of_activation if self.cell else _of_surprise
        values = {
            "name": visible(self.name),
            "model": visible(self.model),
            "cell": self.cell,
            "symbols": self.symbols,
            "bits": f"{bits:.3f}",
            "nats": f"{self.nats / self.symbols:.3f}",
            "hottest": HOTTEST,
            "steps": _STEPS,
            "begin": list(self._shown(self.begin, classes)),
            "places": [
                (place.where, f"{place.bits:.1f}", list(self._shown(place.passage, classes)))
                for place in self.places
            ],
        }
        return template.render("heat_map.html", values)

    def _shown(self, passage: Passage, classes: Callable[[Stretch, int], str]) -> Iterator[Shown]:
        found = passage.found
        for index, symbol in enumerate(passage.symbols.tolist()):
            marked = " mark" if index == passage.mark else ""
            text = visible(self.texts[symbol])
            end = "\u21b5\n" if text == "\n" else text
            yield Shown(end, classes(found, index) + marked, self._told(symbol, found, index))

    def _told(self, symbol: int, found: Stretch, index: int) -> str:
        """The surprise of a symbol, and what was expected in its place."""
        nats = float(found.nats[index])
        told = f"{_name(self.texts[symbol])}: {nats / math.log(2):.1f} bits"
        told += f", {_percent(math.exp(-nats))}"
        if len(found.activations):
            told += f"; the cell: {found.activations[index]:+.2f}"
        expected: Iterable[tuple[int, float]] = zip(
            found.likeliest[index].tolist(), found.chances[index].tolist(), strict=True
        )
        alternatives = [f"{_name(self.texts[other])} {_percent(p)}" for other, p in expected]
        return f"{told}\nexpected: {'   '.join(alternatives)}"


def _name(text: str) -> str:
    return _NAMES.get(text, visible(text))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.0005 else "under 0.1 %"


def _of_surprise(found: Stretch, index: int) -> str:
    return f"s{min(int(found.nats[index] / math.log(2)), HOTTEST)}"


def _of_activation(found: Stretch, index: int) -> str:
    step = round(_STEPS * float(found.activations[index]))
    step = max(-_STEPS, min(step, _STEPS))
    return f"{'n' if step < 0 else 'p'}{abs(step)}"
