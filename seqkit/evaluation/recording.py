"""A recording that sounds are held against: what is kept of it, and what is said of them."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seqkit.data.sound import Wave
from seqkit.evaluation.full_band import (
    FullBand,
    Hearing,
    Sound,
    distances,
    noise_from,
)
from seqkit.evaluation.likeness import (
    BANDS,
    RATE,
    SHORTEST,
    Distances,
    Frames,
    Heard,
    scaled,
)
from seqkit.symbols import NamedArrays

NEEDED = Distances(0.10, 0.25, 0.45, 0.40, 0.12, 0.25)
"""Up to these a sound counts as like its recording, whatever the recording."""
_ENOUGH = 0.99  # of the seconds of a verdict: a loop is a little shorter than asked
VERDICT = 5.0
"""Seconds that a verdict is on. A longer sound is judged by the mean over pieces as long, and by
the same limits: what is measured, and up to where, does not depend on the length."""
_SLACK = 1.5  # times the distances of the recording's halves, or pieces, which are enough, too
_SAME_HIGHS = 1.0  # decibels
_PEAK = 0.95  # of the recording
_KEPT = ("level", "clarity", "notes", "shares")
_SCALARS = ("factor", "unit", "halves")


class Judgement(NamedTuple):
    """Whether a sound is like its recording, and that in words that follow "it".

    is_like: None of a sound that is too short for a verdict.
    distances: None of one that is too short for these, too.
    """

    is_like: bool | None
    words: str
    distances: Distances | None = None


@dataclass(frozen=True)
class Recording:
    """A recording that sounds are compared with: what is kept of it, some 30 kB.

    factor: brings its peak to `_PEAK`.
    heard: its frames.
    full, full_factor: both at 32 kHz; None and 1 in what an older seqkit kept.
    unit: how far noise is from it.
    halves: how far its first half is from its second.
    piece: how far pieces of it that are as long as `VERDICT` are from it, in the median; as
        `halves` of a recording that is shorter than two of them.
    """

    factor: float
    heard: Heard
    full: FullBand | None
    full_factor: float
    unit: Distances
    halves: Distances
    piece: Distances

    @classmethod
    def of(cls, wave: Wave, sample_rate: int) -> "Recording":
        """Of samples (N,) at a rate in hertz.

        Raises:
            ValueError: it is silent, or its halves are shorter than `SHORTEST`.
        """
        sound = Sound.of(wave, sample_rate)
        if len(sound.low) < 2 * SHORTEST:
            raise ValueError(f"a recording of at least {2 * SHORTEST / RATE:g} s is needed")
        peaks = [float(np.abs(wave).max()) for wave in sound]
        if not all(peaks):
            raise ValueError("the recording is silent")
        factor, full_factor = (_PEAK / peak for peak in peaks)
        sound = sound.times(factor, full_factor)
        heard = sound.hear()
        unit = noise_from(sound, heard)
        first, second = map(Sound, *(np.split(wave, [len(wave) // 2]) for wave in sound))
        of_second = second.hear()
        halves = scaled(distances(first.hear(), of_second), noise_from(second, of_second))
        piece = halves
        if len(sound.low) > 2 * VERDICT * RATE:
            found = [distances(one.hear(), heard) for one in sound.pieces(VERDICT)]
            piece = scaled(Distances(*np.median(found, 0).tolist()), unit)
        return cls(
            factor=factor,
            heard=heard.low,
            full=heard.full,
            full_factor=full_factor,
            unit=unit,
            halves=halves,
            piece=piece,
        )

    def measure(self, wave: Wave, sample_rate: int) -> Distances:
        """How far a sound (N,) is from the recording.

        Raises:
            ValueError: it is shorter than four frames.
        """
        return self._far(self._sound(wave, sample_rate).hear())

    @property
    def limits(self) -> Distances:
        """The distances up to which a sound counts as like it, whatever its length."""
        worst = np.maximum(self.halves, self.piece) * _SLACK
        return Distances(*np.maximum(NEEDED, worst).tolist())

    def louder(self, wave: Wave, sample_rate: int) -> float:
        """Decibels by which a sound (N,) is louder than the recording, in the median of frames."""
        return float(np.median(self._sound(wave, sample_rate).hear().low.level - self.heard.level))

    def judged(self, wave: Wave, sample_rate: int) -> Judgement:
        """Whether a sound (N,) is like the recording; the words have its distances, too."""
        sound, pieces = self._sound(wave, sample_rate), len(wave) / sample_rate / VERDICT
        if len(sound.low) < SHORTEST:
            return Judgement(None, "is too short to compare with the recording")
        if pieces < _ENOUGH:
            found = self._far(sound.hear())
            values = ", ".join(f"{name} {value:.2f}" for name, value in found.known.items())
            short = f"is too short for a verdict, which needs {VERDICT:g} s of sound"
            return Judgement(None, f"{short}; it differs from the recording by {values}", found)
        heard = [piece.hear() for piece in sound.pieces(VERDICT, math.ceil(pieces))]
        found = Distances(*np.mean([self._far(piece) for piece in heard], 0).tolist())
        bounds = self.limits.known
        apart = {name: value > bounds[name] for name, value in found.known.items()}
        limits = (
            f"{name} {value:.2f} {'>' if apart[name] else '≤'} {bounds[name]:.2f}"
            for name, value in found.known.items()
        )
        beside = f"({', '.join(limits)})"
        if not any(apart.values()):
            return Judgement(True, f"sounds like the recording {beside}", found)
        reasons = self._reasons(heard)
        told = ", ".join(reasons[name] for name in apart if apart[name] and reasons[name])
        return Judgement(False, f"does not sound like the recording: {told} {beside}", found)

    def _reasons(self, heard: list[Hearing]) -> dict[str, str]:
        """What is wrong with a sound, heard in pieces, that is too far in a distance."""
        pitched = np.mean([piece.low.pitched for piece in heard])
        hiss = pitched < self.heard.pitched
        clearness = "less clear: a lower temperature may help" if hiss else "clearer"
        apart = np.mean([piece.low.level for piece in heard], 0) - self.heard.level
        louder, wider = apart.mean(), apart[-21] - apart[20]  # without the last twentieths
        words = {
            "spectrum": "its timbre is another",
            "tone": f"its tones are {clearness}",
            "pitch": "it plays other notes",
            "loudness": f"its loudness varies too {'much' if wider > 0 else 'little'}",
        }
        if abs(louder) > abs(wider):
            words["loudness"] = "it is louder" if louder > 0 else "it is quieter"
        if pitched < self.heard.pitched / 3:
            words |= {"tone": "it lacks the clear tones of the recording", "pitch": ""}
        full = [piece.full for piece in heard if piece.full is not None]
        if self.full is not None and full:
            more = np.mean([piece.highs for piece in full]) - self.full.highs
            words["band"] = "its highs are other ones"
            if abs(more) > _SAME_HIGHS:
                words["band"] = "it is brighter" if more > 0 else "it is duller"
            contrast = np.mean([piece.median_contrast for piece in full])
            hisses = contrast < self.full.median_contrast
            words["contrast"] = "it hisses" if hisses else "it has less hiss"
        return words

    def _sound(self, wave: Wave, sample_rate: int) -> Sound:
        """A sound as it is compared."""
        return Sound.of(wave, sample_rate).times(self.factor, self.full_factor)

    def _far(self, heard: Hearing) -> Distances:
        return scaled(distances(heard, Hearing(self.heard, self.full)), self.unit)

    def tensors(self) -> NamedArrays:
        """All of it as arrays, by name."""
        spectra = {"mean": self.heard.spectra.mean, "covariance": self.heard.spectra.covariance}
        frames = {name: getattr(self.heard, name) for name in _KEPT}
        scalars = {name: np.array(getattr(self, name)) for name in _SCALARS}
        found = spectra | frames | scalars | {"pieces": np.array([[VERDICT, *self.piece]])}
        if self.full is not None:
            found["full_factor"] = np.array(self.full_factor)
            found["full_mean"] = self.full.bands.mean
            found["full_covariance"] = self.full.bands.covariance
            found["full_contrast"] = self.full.contrast
        return {name: values.astype(np.float64) for name, values in found.items()}

    @classmethod
    def of_saved(cls, own: NamedArrays) -> "Recording":
        """What `tensors` gave. Raises KeyError, TypeError, ValueError for others.

        An older seqkit kept nothing at the higher rate, and pieces of several lengths.
        """
        spectra = Frames(own["mean"].reshape(BANDS), own["covariance"].reshape(BANDS, BANDS))
        halves, full = Distances(*own["halves"].tolist()), None
        if "full_factor" in own:
            bands = Frames(own["full_mean"], own["full_covariance"])
            full = FullBand(bands, own["full_contrast"])
        rows = own["pieces"].tolist()
        return cls(
            factor=float(own["factor"]),
            heard=Heard(spectra, *(own[name] for name in _KEPT)),
            full=full,
            full_factor=float(own.get("full_factor", 1.0)),
            unit=Distances(*own["unit"].tolist()),
            halves=halves,
            piece=next((Distances(*row[1:]) for row in rows if row[0] >= VERDICT), halves),
        )
