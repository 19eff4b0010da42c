"""How surprising a sound is: its most surprising places, and a curve under its waveform.

The curve is that of the surprise, or of one cell's activation.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Part
from seqkit.data.sound import Wave
from seqkit.evaluation.baselines import noun
from seqkit.evaluation.places import Peaks
from seqkit.evaluation.surprise import Stretch
from seqkit.foundation.wording import visible
from seqkit.report import charts, html
from seqkit.report.surprise_of_text import Names, name_of
from seqkit.runs.record import Curve
from seqkit.symbols import Floats

_COLUMNS = 800
_EXCERPTS = 8  # on the page
_FRAME, _HALF = 0.05, 0.5  # seconds: where surprise is averaged, and around it what is played


class _Excerpt(NamedTuple):
    """A surprising place: when it is, in words, the mean bits there, and the wave (n,) around."""

    when: str
    bits: float
    wave: Wave


class _Columns:
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


class SurpriseOfSound:
    """Takes the stretches of a sound in order; keeps a curve and its surprising places."""

    def __init__(self, part: Part, codec: Quantiser, documents: Sequence[str]) -> None:
        """`documents` names those of the corpus, as far as they have names."""
        self._part, self._codec, self._documents = part, codec, documents
        self._noun = noun(codec.kind, codec.symbols_per_sample)
        self._columns = _Columns(len(part))
        self._peaks = Peaks[_Excerpt](_EXCERPTS, int(2 * _HALF * codec.symbol_rate) + 1)
        self._nats = 0.0

    def add(self, stretch: Stretch) -> None:
        """Take the next stretch."""
        symbols = self._part.symbols[stretch.begin : stretch.end]
        wave, rate = self._codec.along(symbols), self._codec.symbol_rate
        bits = stretch.nats / math.log(2)
        shown = stretch.activations if len(stretch.activations) else bits
        self._columns.add(stretch.begin, wave, shown)
        size = min(max(1, round(_FRAME * rate)), len(bits))
        count = len(bits) // size
        means = bits[: count * size].reshape(count, size).mean(axis=1)

        def keep(place: int) -> _Excerpt:
            middle, half = place - stretch.begin + size // 2, int(_HALF * rate)
            around = wave[max(middle - half, 0) : middle + half]
            value = float(means[(place - stretch.begin) // size])
            return _Excerpt(self._when(place), value, around.copy())  # of a whole stretch

        self._peaks.add(stretch.begin, means, keep, spacing=size)
        self._nats += float(stretch.nats.sum(dtype=np.float64))

    def places(self, most: int) -> list[str]:
        """So many of the most surprising places in words, the most surprising first."""
        found = [peak.kept for peak in self._peaks.highest[:most]]
        return [f"{place.when}: {place.bits:.2f} bits a {self._noun}" for place in found]

    def page(self, names: Names) -> bytes:
        """The page, after the last stretch: one file that loads nothing."""
        columns, rate = self._columns, self._codec.symbol_rate
        nats, seconds = self._nats / len(self._part), len(self._part) / rate
        times = self._earlier + np.arange(len(columns.low)) * seconds / len(columns.low)
        title = names.cell or f"Bits of surprise a {self._noun}"
        chart = charts.under_waveform(title, columns.low, columns.high, Curve(times, columns.means))
        excerpts = [peak.kept for peak in self._peaks.highest]
        values = {
            "name": visible(names.data),
            "model": visible(names.model),
            "cell": names.cell,
            "bits": f"{nats / math.log(2):.3f}",
            "noun": self._noun,
            "nats": f"{nats:.3f}",
            "seconds": f"{seconds:.1f}",
            "rate": self._codec.sample_rate,
            "chart": Markup(chart.svg),
            "title": title,
            "places": [
                (one.when, f"{one.bits:.2f}", html.player("", one.wave, rate)) for one in excerpts
            ],
        }
        return html.render("surprise_of_sound.html", values)

    @property
    def _earlier(self) -> float:
        """Seconds of the sound before the part, which its axis begins with: of one document."""
        return len(self._part.before) / self._codec.symbol_rate if self._part.documents == 1 else 0

    def _when(self, place: int) -> str:
        """When a place is: on the axis, and of several documents in its own."""
        rate, starts = self._codec.symbol_rate, self._part.starts
        axis = f"at {self._earlier + place / rate:.2f} s"
        if self._part.documents == 1:
            return axis
        own = int(np.searchsorted(starts, place, side="right"))
        before = len(self._part.before) if own == 1 else 0
        seconds = (place - int(starts[own - 1]) + before) / rate
        name = name_of(self._documents, self._part.documents_before + own)
        return f"{axis} ({visible(name)}, {seconds:.2f} s)"
