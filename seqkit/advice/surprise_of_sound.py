"""How surprising a sound is: its most surprising places, and a curve under its waveform."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from seqkit.advice import charts, html
from seqkit.advice.surprise_of_text import Names, name_of
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Part
from seqkit.data.sound import Wave
from seqkit.evaluation.baselines import noun
from seqkit.evaluation.surprise import Peaks, Stretch
from seqkit.foundation import templates
from seqkit.foundation.wording import visible
from seqkit.runs.record import Curve

_COLUMNS = 800
_EXCERPTS = 8  # on the page
_FRAME, _HALF = 0.05, 0.5  # seconds: where surprise is averaged, and around it what is played


class SurpriseOfSound:
    """Takes the stretches of a sound in order; keeps a curve and its surprising places."""

    def __init__(self, part: Part, codec: Quantiser, documents: Sequence[str]) -> None:
        """`documents` names those of the corpus, as far as they have names."""
        self._part, self._codec, self._documents = part, codec, documents
        self._noun = noun(codec.kind, codec.symbols_per_sample)
        count = min(len(part), _COLUMNS)
        self._begins = np.arange(count + 1) * len(part) // count  # of the picture's columns
        self._low, self._high = np.zeros((2, count), np.float32)
        self._sums = np.zeros(count)
        self._peaks = Peaks[Wave](_EXCERPTS, int(2 * _HALF * codec.symbol_rate) + 1)
        self._nats = 0.0

    def add(self, stretch: Stretch) -> None:
        """Take the next stretch."""
        symbols = self._part.symbols[stretch.begin : stretch.end]
        wave, rate = self._codec.along(symbols), self._codec.symbol_rate
        bits = stretch.nats / math.log(2)
        places = np.arange(stretch.begin, stretch.end)
        columns = np.searchsorted(self._begins, places, side="right") - 1
        np.minimum.at(self._low, columns, wave)
        np.maximum.at(self._high, columns, wave)
        np.add.at(self._sums, columns, bits)
        size = min(max(1, round(_FRAME * rate)), len(bits))
        count = len(bits) // size
        means = bits[: count * size].reshape(count, size).mean(axis=1)

        def around(place: int) -> Wave:
            middle, half = place - stretch.begin + size // 2, int(_HALF * rate)
            return wave[max(middle - half, 0) : middle + half].copy()  # of a whole stretch

        self._peaks.add(stretch.begin, means, around, spacing=size)
        self._nats += float(stretch.nats.sum(dtype=np.float64))

    def places(self, most: int) -> list[str]:
        """So many of the most surprising places in words, the most surprising first."""
        return [
            f"{self._when(peak.place)}: {peak.value:.2f} bits a {self._noun}"
            for peak in self._peaks.highest[:most]
        ]

    def page(self, names: Names) -> bytes:
        """The page, after the last stretch: one file that loads nothing."""
        rate, means = self._codec.symbol_rate, self._sums / np.diff(self._begins)
        seconds = len(self._part) / rate
        times = self._earlier + np.arange(len(means)) * seconds / len(means)
        title = f"Bits of surprise a {self._noun}"
        chart = charts.under_waveform(self._low, self._high, Curve(times, means))
        values = {
            **names.values(self._nats / len(self._part)),
            "noun": self._noun,
            "seconds": f"{seconds:.1f}",
            "rate": self._codec.sample_rate,
            "chart": chart,
            "title": title,
            "places": [
                (self._when(peak.place), f"{peak.value:.2f}", html.player("", peak.kept, rate))
                for peak in self._peaks.highest
            ],
        }
        return templates.render(Path(__file__).with_suffix(".html"), values)

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
        document = int(np.searchsorted(starts, place, side="right"))
        before = len(self._part.before) if document == 1 else 0
        seconds = (place - int(starts[document - 1]) + before) / rate
        name = name_of(self._documents, self._part.documents_before + document)
        return f"{axis} ({visible(name)}, {seconds:.2f} s)"
