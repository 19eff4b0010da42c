"""How surprising a sound is: its most surprising places, and a curve under its waveform."""

import math
from collections.abc import Sequence

import numpy as np

from seqkit.advice import charts
from seqkit.advice.surprise_of_text import Peaks, located
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Part
from seqkit.evaluation.baselines import noun
from seqkit.evaluation.streaming import Stretch

_COLUMNS = 800
_FRAME, _APART = 0.05, 1.0  # seconds in which surprise is averaged, and between two places


class SurpriseOfSound:
    """Takes the stretches of a sound in order; keeps a curve and its surprising places."""

    def __init__(self, part: Part, codec: Quantiser, documents: Sequence[str]) -> None:
        """`documents` as for `located`."""
        self._part, self._codec, self._documents = part, codec, documents
        self._noun = noun(codec.kind)
        count = min(len(part), _COLUMNS)
        self._begins = np.arange(count + 1) * len(part) // count  # of the picture's columns
        self._low, self._high = np.zeros((2, count), np.float32)
        self._sums = np.zeros(count)
        self._peaks = Peaks(int(_APART * codec.symbol_rate) + 1)

    def add(self, stretch: Stretch) -> None:
        """Take the next stretch."""
        wave = self._codec.along(self._part.symbols[stretch.begin : stretch.end])
        bits = stretch.nats / math.log(2)
        places = np.arange(stretch.begin, stretch.end)
        columns = np.searchsorted(self._begins, places, side="right") - 1
        np.minimum.at(self._low, columns, wave)
        np.maximum.at(self._high, columns, wave)
        np.add.at(self._sums, columns, bits)
        size = min(max(1, round(_FRAME * self._codec.symbol_rate)), len(bits))
        means = bits[: len(bits) // size * size].reshape(-1, size).mean(axis=1)
        self._peaks.add(stretch.begin, means, size)

    def places(self, most: int) -> list[str]:
        """So many of the most surprising places in words, the most surprising first."""
        return [
            f"{self._when(place)}: {bits:.2f} bits a {self._noun}"
            for place, bits in self._peaks.highest[:most]
        ]

    def picture(self, data: str, model: str, ending: str) -> bytes:
        """The curve under the waveform, after the last stretch, in one of `charts.FORMATS`."""
        means = self._sums / np.diff(self._begins)
        seconds = self._begins[:-1] / self._codec.symbol_rate
        mean = self._sums.sum() / len(self._part)
        words = f"{data}: {mean:.3f} bits a {self._noun} for {model}", f"bits a {self._noun}"
        return charts.under_waveform((self._low, self._high), (seconds, means), words, ending)

    def _when(self, place: int) -> str:
        """When a place is, in its document."""
        name, offset = located(self._part, self._documents, place)
        return f"{name} at {offset / self._codec.symbol_rate:.2f} s"
