"""A recording that sounds are held against: what is kept of it, and what is said of them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seqkit.data.sound import Wave
from seqkit.data.sound.resample import resample
from seqkit.evaluation.likeness import (
    BANDS,
    RATE,
    SHORTEST,
    Distances,
    Frames,
    Heard,
    distances,
    hear,
    level_of,
    noise_from,
    scaled,
)
from seqkit.symbols import Integers

NEEDED = (0.10, 0.25, 0.45, 0.40)
"""Distances up to which a sound counts as like its recording, whatever the recording."""
ENOUGH = 1500.0
"""Seconds of sound that a training reads, all passes together, until it sounds like most."""
_SLACK = 1.5  # times the distances of the recording's halves, or pieces, which are enough, too
_LENGTHS = (1.0, 2.0, 5.0, 10.0)  # seconds of pieces
_MOST_PIECES = 40  # of each length
_QUIETER = 20.0  # decibels below the recording's quietest second, from which on that is silence
_CLEAR_SHARE = 0.2  # of the frames of every second: a recording that never is without a tone
_COARSE = 100  # levels within which two samples count as the same
_PEAK = 0.95  # of the recording
_KEPT = ("level", "clarity", "notes", "shares")
_SCALARS = ("factor", "unit", "halves", "quietest", "least_pitched", "loops")


class Judgement(NamedTuple):
    """Whether a sound is like its recording, and that in words that follow "it"."""

    is_like: bool
    words: str


@dataclass(frozen=True)
class Recording:
    """A recording that sounds are compared with: what is kept of it, some 15 kB.

    factor: brings its peak to `_PEAK`.
    unit: how far noise is from it.
    halves: how far its first half is from its second.
    pieces: seconds, and how far pieces of the recording that are as long are from the whole.
    quietest: the level of its quietest second, in decibels.
    least_pitched: the share of frames with a pitch in the second that has the fewest.
    loops: whether the first half of a second of it recurs in it, as that of a tone may.
    """

    factor: float
    heard: Heard
    unit: Distances
    halves: Distances
    pieces: list[tuple[float, Distances]]
    quietest: float
    least_pitched: float
    loops: bool

    @classmethod
    def of(cls, wave: Wave, sample_rate: int) -> "Recording":
        """Of samples (N,) at a rate in hertz.

        Raises:
            ValueError: it is silent, or its halves are shorter than `SHORTEST`.
        """
        wave = resample(wave, sample_rate, RATE)
        if len(wave) < 2 * SHORTEST:
            raise ValueError(f"a recording of at least {2 * SHORTEST / RATE:g} s is needed")
        peak = float(np.abs(wave).max(initial=0))
        if not peak:
            raise ValueError("the recording is silent")
        wave = (wave * np.float32(_PEAK / peak)).astype(np.float32)
        heard = hear(wave)
        unit = noise_from(wave, heard)
        first, second = (hear(half) for half in (wave[: len(wave) // 2], wave[len(wave) // 2 :]))
        unit_of_half = noise_from(wave[len(wave) // 2 :], second)
        seconds = _pieces(wave, min(RATE, len(wave)))
        pieces = []
        for length in _LENGTHS:
            if 2 * length * RATE < len(wave):
                apart = [distances(hear(part), heard) for part in _pieces(wave, int(length * RATE))]
                pieces.append((length, scaled(Distances(*np.median(apart, 0).tolist()), unit)))
        return cls(
            factor=_PEAK / peak,
            heard=heard,
            unit=unit,
            halves=scaled(distances(first, second), unit_of_half),
            pieces=pieces,
            quietest=min(level_of(second) for second in seconds),
            least_pitched=min(hear(second).pitched for second in seconds),
            loops=any(loops(np.round(second * _COARSE).astype(np.int64)) for second in seconds),
        )

    def measure(self, wave: Wave, sample_rate: int) -> Distances:
        """How far a sound (N,) is from the recording.

        Raises:
            ValueError: it is shorter than four frames.
        """
        return scaled(distances(self._heard(wave, sample_rate), self.heard), self.unit)

    def needed(self, seconds: float) -> Distances:
        """The distances up to which a sound of this length counts as like it."""
        likened = [self.halves]
        likened += [next((far for length, far in self.pieces if length >= seconds), self.halves)]
        worst = np.max(likened, 0) * _SLACK
        return Distances(*np.maximum(NEEDED, worst).tolist())

    def judged(self, wave: Wave, sample_rate: int) -> Judgement:
        """Whether a sound (N,) is like the recording; the words have its distances, too."""
        try:
            heard = self._heard(wave, sample_rate)
        except ValueError:
            return Judgement(False, "is too short to compare with the recording")
        scores = scaled(distances(heard, self.heard), self.unit)
        most = self.needed(len(wave) / sample_rate)
        apart = [n for n, s, bound in zip(scores._fields, scores, most, strict=True) if s > bound]
        limits = zip(scores._fields, scores, most, strict=True)
        values = (f"{n} {s:.2f} {'>' if s > b else '≤'} {b:.2f}" for n, s, b in limits)
        beside = f"({', '.join(values)})"
        if not apart:
            return Judgement(True, f"sounds like the recording {beside}")
        hiss = heard.pitched < self.heard.pitched
        clearness = "less clear: a lower temperature may help" if hiss else "clearer"
        words = {
            "spectrum": "its timbre is another",
            "tone": f"its tones are {clearness}",
            "pitch": "it plays other notes",
            "loudness": "its loudness varies in another way",
        }
        if heard.pitched < self.heard.pitched / 3:
            words |= {"tone": "the recording is pitched, it is not", "pitch": ""}
        reasons = ", ".join(words[name] for name in apart if words[name])
        return Judgement(False, f"does not sound like the recording: {reasons} {beside}")

    def fault(self, wave: Wave, sample_rate: int) -> str | None:
        """What a second of sound (N,) has that no second of the recording has, if anything."""
        heard = resample(wave, sample_rate, RATE) * np.float32(self.factor)
        if level_of(heard) < self.quietest - _QUIETER:
            return "silence"
        if self.least_pitched > _CLEAR_SHARE and hear(heard).pitched < self.least_pitched / 4:
            return "no tone"
        return None

    def _heard(self, wave: Wave, sample_rate: int) -> Heard:
        return hear(resample(wave, sample_rate, RATE) * np.float32(self.factor))

    def tensors(self) -> dict[str, Tensor]:
        """All of it as tensors, by name."""
        spectra = {"mean": self.heard.spectra.mean, "covariance": self.heard.spectra.covariance}
        frames = {name: getattr(self.heard, name) for name in _KEPT}
        scalars = {name: np.array(getattr(self, name)) for name in _SCALARS}
        rows = [(length, *far) for length, far in self.pieces]
        pieces = {"pieces": np.array(rows, np.float64).reshape(-1, 5)}
        arrays = spectra | frames | scalars | pieces
        return {name: torch.from_numpy(v.astype(np.float64)) for name, v in arrays.items()}

    @classmethod
    def of_saved(cls, tensors: dict[str, Tensor]) -> "Recording":
        """What `tensors` were taken from. Raises KeyError, TypeError, ValueError for others."""
        arrays = {name: values.numpy() for name, values in tensors.items()}
        spectra = Frames(arrays["mean"].reshape(BANDS), arrays["covariance"].reshape(BANDS, BANDS))
        return cls(
            factor=float(arrays["factor"]),
            heard=Heard(spectra, *(arrays[name] for name in _KEPT)),
            unit=Distances(*arrays["unit"].tolist()),
            halves=Distances(*arrays["halves"].tolist()),
            pieces=[(row[0], Distances(*row[1:])) for row in arrays["pieces"].tolist()],
            quietest=float(arrays["quietest"]),
            least_pitched=float(arrays["least_pitched"]),
            loops=bool(arrays["loops"]),
        )


def loops(symbols: Integers) -> bool:
    """Whether the first half of symbols (N,) recurs exactly within them."""
    content = symbols.tobytes()
    return content.find(content[: len(content) // 2], symbols.itemsize) > 0


def _pieces(wave: Wave, size: int) -> list[Wave]:
    """Pieces of so many samples, from the first to the last, half of one apart but at most 40."""
    count = min(_MOST_PIECES, 2 * len(wave) // size - 1)
    begins = np.linspace(0, len(wave) - size, count).astype(int).tolist()
    return [wave[begin : begin + size] for begin in begins]
