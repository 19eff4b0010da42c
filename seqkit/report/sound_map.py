"""A sound as a curve of surprise, or of one cell's activation, under its waveform."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from seqkit.data.sound import Wave
from seqkit.foundation.escaping import visible
from seqkit.report import charts, samples, template
from seqkit.runs.metrics import Curve
from seqkit.symbols import Floats

_COLUMNS = 800


class Excerpt(NamedTuple):
    """A surprising place: when it is, in words, the mean bits there, and the wave (n,) around."""

    when: str
    bits: float
    wave: Wave


class Columns:
    """A wave and a quantity that come piece by piece, gathered in columns of a picture."""

    def __init__(self, samples: int) -> None:
        """`samples` is how many will come."""
        count = min(samples, _COLUMNS)
        self._begins = np.arange(count + 1) * samples // count
        self.low, self.high = np.zeros((2, count), np.float32)
        self._sums = np.zeros(count)

    def add(self, begin: int, wave: Wave, values: Floats) -> None:
        """The wave (n,) and the values (n,) from the place `begin` on."""
        columns = np.searchsorted(self._begins, begin + np.arange(len(wave)), side="right") - 1
        np.minimum.at(self.low, columns, wave)
        np.maximum.at(self.high, columns, wave)
        np.add.at(self._sums, columns, values)

    @property
    def means(self) -> Floats:
        """Of the values, by column."""
        found: Floats = self._sums / np.diff(self._begins)
        return found


@dataclass(frozen=True)
class SoundMap:
    """What the page tells.

    name: of the sound.
    model: where the checkpoint is.
    noun: what a symbol is.
    sample_rate: of the sound, in hertz.
    symbol_rate: symbols a second; the wave of a place has a value for each.
    symbols, nats: how many symbols were scored, and the sum of their surprise.
    columns: the waveform and the curve.
    places: the most surprising ones.
    cell: in words, the cell that gives the curve; empty where the surprise does.
    """

    name: str
    model: str
    noun: str
    sample_rate: int
    symbol_rate: int
    symbols: int
    nats: float
    columns: Columns
    places: Sequence[Excerpt]
    cell: str = ""

    def page(self) -> bytes:
        """The page, in one file that loads nothing."""
        bits = self.nats / math.log(2) / self.symbols
        columns, seconds = self.columns, self.symbols / self.symbol_rate
        times = np.arange(len(columns.low)) * seconds / len(columns.low)
        title = self.cell or f"Bits of surprise a {self.noun}"
        chart = charts.under_waveform(title, columns.low, columns.high, Curve(times, columns.means))
        values = {
            "name": visible(self.name),
            "model": visible(self.model),
            "cell": self.cell,
            "bits": f"{bits:.3f}",
            "noun": self.noun,
            "nats": f"{self.nats / self.symbols:.3f}",
            "seconds": f"{seconds:.1f}",
            "rate": self.sample_rate,
            "chart": Markup(chart.svg),
            "title": title,
            "places": [
                (place.when, f"{place.bits:.2f}", samples.player("", place.wave, self.symbol_rate))
                for place in self.places
            ],
        }
        return template.render("sound_map.html", values)
