"""What of a recording is kept to compare sounds with, and what is said of them."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqkit.data.sound import Wave
from seqkit.evaluation import hearing
from seqkit.evaluation.hearing import LOW, SHORTEST, Heard, Normal, Sound
from seqkit.evaluation.likeness import (
    PULSE,
    Copied,
    Distances,
    copied,
    distances,
    fidelity,
    noise_from,
    scaled,
)
from seqkit.symbols import NamedArrays

NEEDED = Distances(0.10, 0.25, 0.45, 0.40, 0.15, 0.25, 0.10, 0.35, 0.30)
"""Up to these a sound counts as like its recording, whatever the recording."""
VERDICT = 5.0
"""Seconds that a verdict is on. Of a longer sound the first six distances are the mean over pieces
as long, and go by the same limits; the others are of the whole."""
_PIECEWISE = 6
_ENOUGH = 0.99  # of the seconds of a verdict: a loop is a little shorter than asked
_LARGEST = Distances(*[math.inf] * 9)._replace(pitch=0.9, frames=0.9, pulse=0.9)
"""Limits at most: three of the distances are never above 1."""
_WELL = 0.9  # of its limits, within which a sound is like the recording, another one mostly, too
_SLACK = 1.5  # times the distances of the recording's halves, or pieces, which are enough, too
_DIGITS = 6  # of a distance at most
_SAME_TONES = 0.05  # of the moments
_SAME_HIGHS, _SAME_CONTRAST = 1.0, 1.5  # decibels
_PEAK = 0.95  # of the recording
_MOST_PIECES = 40
_MOST_MOMENTS = 2000
_STEPS = 2  # of a decibel, in which moments are kept
_NORMALS = {"spectra": hearing.SPECTRUM_BANDS, "bands": hearing.FULL_BANDS}
_OWN = {"factor": 0, "full_factor": 0, "stride": 0, "unit": 9, "halves": 9, "piece": 9}
"""Fields of a recording, and the numbers of each; 0 of a single one."""


class Judgement(NamedTuple):
    """Whether a sound is like its recording, and that in words that follow "it".

    is_like: None of a sound that is too short for a verdict.
    distances, copied: None of one that is too short for these, too.
    """

    is_like: bool | None
    words: str
    distances: Distances | None = None
    copied: Copied | None = None


def _beside(value: float, bound: float) -> str:
    """A distance beside its limit, with as many digits as tell them apart."""
    look = ((n, f"{value:.{n}f}" != f"{bound:.{n}f}") for n in range(2, _DIGITS))
    digits = next((n for n, apart in look if apart), _DIGITS)
    return f"{value:.{digits}f} {'>' if value > bound else '≤'} {bound:.{digits}f}"


@dataclass(frozen=True)
class Recording:
    """A recording that sounds are compared with: what is kept of it, at most 100 kB.

    factor, full_factor: bring its peak to `_PEAK`, at each rate.
    heard: its statistics, with every `stride`-th moment.
    unit: how far noise is from it.
    halves: how far its first half is from its second.
    piece: how far pieces of it that are as long as `VERDICT` are from it, in the median; as
        `halves` of a recording that is shorter than two of them.
    """

    factor: float
    full_factor: float
    heard: Heard
    stride: int
    unit: Distances
    halves: Distances
    piece: Distances

    @classmethod
    def of(cls, wave: Wave, sample_rate: int) -> "Recording":
        """Of samples (N,) at a rate in hertz.

        Raises ValueError: it is silent, or its halves are shorter than `SHORTEST`.
        """
        sound = Sound.of(wave, sample_rate)
        if len(sound.low) < 2 * SHORTEST:
            raise ValueError(f"a recording of at least {2 * SHORTEST / LOW:g} s is needed")
        peaks = [float(np.abs(wave).max()) for wave in sound]
        if not all(peaks):
            raise ValueError("the recording is silent")
        factor, full_factor = (_PEAK / peak for peak in peaks)
        sound = sound.times(factor, full_factor)
        whole = sound.hear()
        stride = max(hearing.MOMENT, -(-len(whole.moments) // _MOST_MOMENTS))
        heard = _thinned(whole, stride)
        unit = noise_from(sound, heard)
        first, second = sound.pieces(len(sound.low) / 2 / LOW, 2)
        of_first, of_second = (_thinned(half.hear(heard.floor), stride) for half in (first, second))
        halves = scaled(distances(of_first, of_second), unit)
        halves = halves._replace(frames=0.0)  # which are measured by them
        piece, count = halves, min(_MOST_PIECES, 2 * int(len(sound.low) / VERDICT / LOW) - 1)
        if len(sound.low) > 2 * VERDICT * LOW:
            pieces = [one.hear(heard.floor) for one in sound.pieces(VERDICT, count)]
            found = [distances(_thinned(one, stride), heard) for one in pieces]
            piece = scaled(Distances(*np.median(found, 0).tolist()), unit)
        return cls(factor, full_factor, heard, stride, unit, halves, piece)

    def measure(self, wave: Wave, sample_rate: int) -> Distances:
        """How far a sound (N,) is from the recording. Raises ValueError if it is too short."""
        return self._far(self._hear(self._sound(wave, sample_rate)))

    @property
    def limits(self) -> Distances:
        """The distances up to which a sound counts as like it, whatever its length."""
        worst = np.maximum(NEEDED, np.maximum(self.halves, self.piece) * _SLACK)
        return Distances(*np.minimum(worst, _LARGEST).tolist())

    @property
    def has_pulse(self) -> bool:
        """Whether there is a pulse to be compared."""
        return self.heard.pulse >= PULSE

    def worst(self, found: Distances) -> float:
        """The largest distance, divided by its limit."""
        return max(far / limit for far, limit in zip(found, self.limits, strict=True))

    def place(self, said: Judgement) -> tuple[float, float]:
        """By this sounds are sorted, the best first.

        Of those that are well within their limits, the one that copies the shortest passages is the
        best; and if none is, the one that is most like the recording.
        """
        if said.distances is None or said.copied is None:
            return math.inf, math.inf
        return max(self.worst(said.distances), _WELL), said.copied.longest_passage

    def fidelity(self, wave: Wave, sample_rate: int) -> tuple[float, float]:
        """Precision and recall of a sound's moments, see `likeness`. Raises as `measure`."""
        return fidelity(self._hear(self._sound(wave, sample_rate)).moments, self.heard.moments)

    def judged(self, wave: Wave, sample_rate: int) -> Judgement:
        """Whether a sound (N,) is like the recording; the words have its distances, too."""
        sound, pieces = self._sound(wave, sample_rate), len(wave) / sample_rate / VERDICT
        if len(sound.low) < SHORTEST:
            return Judgement(None, "is too short to compare with the recording")
        whole = sound.hear(self.heard.floor)
        passages = copied(whole.moments, self.heard.moments, self.stride)
        whole = _thinned(whole, self.stride)
        found = self._far(whole)
        if pieces < _ENOUGH:
            short = f"is too short for a verdict, which needs {VERDICT:g} s of new sound"
            return Judgement(None, short, found, passages)
        heard = [self._hear(piece) for piece in sound.pieces(VERDICT, math.ceil(pieces))]
        means = np.mean([self._far(piece) for piece in heard], 0).tolist()
        found = Distances(*means[:_PIECEWISE], *found[_PIECEWISE:])
        bounds = self.limits._asdict()
        told = {k: v for k, v in found._asdict().items() if k != "pulse" or self.has_pulse}
        apart = [name for name, value in told.items() if value > bounds[name]]
        values = ", ".join(f"{name} {_beside(told[name], bounds[name])}" for name in told)
        none = "" if self.has_pulse else "; the recording has no pulse"
        one_piece = f"it copies {passages.longest_passage:.1f} s at most in one piece"
        long = f"{passages.in_passages:.0%} lies in passages over a second"
        beside = f"({values}){none}; {one_piece}; {long}"
        words = f"sounds like the recording {beside}"
        if apart:
            reasons = self._reasons(whole, heard)
            why = ", ".join(dict.fromkeys(reasons[name] for name in apart if reasons[name]))
            words = f"does not sound like the recording: {why} {beside}"
        return Judgement(not apart, words, found, passages)

    def _reasons(self, whole: Heard, heard: list[Heard]) -> dict[str, str]:
        """What is wrong with a sound, heard in pieces, too, that is too far in a distance."""
        own = self.heard
        pitched = np.mean([piece.pitched for piece in heard])
        clearer = pitched - own.pitched
        apart = np.mean([piece.level for piece in heard], 0) - own.level
        louder, wider = apart.mean(), apart[-21] - apart[20]  # without the last twentieths
        brighter = np.mean([piece.highs for piece in heard]) - own.highs
        farther = np.mean([np.median(piece.contrast) for piece in heard]) - np.median(own.contrast)
        precision, _ = fidelity(whole.moments, own.moments)
        words = {
            "spectrum": "its timbre is another",
            "tone": "its noise is another",
            "pitch": "it plays other notes",
            "loudness": f"its loudness varies too {'much' if wider > 0 else 'little'}",
            "band": "its highs are other ones",
            "contrast": "its noise is another",
            "frames": "it lacks sounds of the recording",
            "flux": "it flickers" if whole.flux.mean() > own.flux.mean() else "it moves less",
            "pulse": "it lacks the pulse of the recording",
        }
        if 1 - precision > self.limits.frames:
            words["frames"] = "it has sounds of its own"
        if abs(louder) > abs(wider):
            words["loudness"] = "it is louder" if louder > 0 else "it is quieter"
        if abs(clearer) > _SAME_TONES:
            less = "less clear: a lower temperature may help"
            words["tone"] = f"its tones are {'clearer' if clearer > 0 else less}"
        if abs(farther) > _SAME_CONTRAST:
            words["contrast"] = "its tones stand out more" if farther > 0 else "it hisses"
        if pitched < own.pitched / 3:
            words |= {"tone": "it lacks the clear tones of the recording", "pitch": ""}
        if abs(brighter) > _SAME_HIGHS:
            words["band"] = "it is brighter" if brighter > 0 else "it is duller"
        return words

    def _sound(self, wave: Wave, sample_rate: int) -> Sound:
        """A sound as it is compared."""
        return Sound.of(wave, sample_rate).times(self.factor, self.full_factor)

    def _hear(self, sound: Sound) -> Heard:
        return _thinned(sound.hear(self.heard.floor), self.stride)

    def _far(self, heard: Heard) -> Distances:
        return scaled(distances(heard, self.heard), self.unit)

    def tensors(self) -> NamedArrays:
        """All of it as arrays, by name."""
        kept = self.heard._asdict() | {name: getattr(self, name) for name in _OWN}
        for name in _NORMALS:
            kept[name], kept[f"{name}_covariance"] = kept[name]
        found = {name: np.asarray(values, np.float64) for name, values in kept.items()}
        moments = np.rint(self.heard.moments * _STEPS).astype(np.uint8)
        return found | {"moments": moments}

    @classmethod
    def of_saved(cls, own: NamedArrays) -> "Recording":
        """What `tensors` gave. Raises KeyError, TypeError, ValueError for all else."""
        quantiles = dict.fromkeys(("level", "clarity", "contrast", "flux"), len(hearing.SHARES))
        kinds, count = len(own["notes"]), len(own["moments"])
        sizes = {**_OWN, **_NORMALS, **quantiles, "pulse": 0, "floor": 0}
        shapes: dict[str, tuple[int, ...]] = {
            name: (size,) if size else () for name, size in sizes.items()
        }
        shapes |= {f"{name}_covariance": (size, size) for name, size in _NORMALS.items()}
        shapes |= {"notes": (kinds,), "shares": (kinds,), "moments": (count, hearing.MEL_BANDS)}
        for name, shape in shapes.items():
            if own[name].shape != shape or not np.isfinite(own[name]).all():
                raise ValueError(f"the recording's {name} cannot be used")
        if kinds > hearing.NOTES or not 2 <= count <= _MOST_MOMENTS or own["stride"] < 1:
            raise ValueError("the recording is of another size")
        kept: dict[str, Any] = {n: v if v.ndim else float(v) for n, v in own.items()}
        kept["moments"] = (own["moments"] / np.float32(_STEPS)).clip(0, hearing.RANGE)
        kept["stride"] = int(kept["stride"])
        for name in _NORMALS:
            kept[name] = Normal(kept[name], kept[f"{name}_covariance"])
        for name in ("unit", "halves", "piece"):
            kept[name] = Distances(*kept[name].tolist())
        heard = Heard(**{name: kept[name] for name in Heard._fields})
        return cls(heard=heard, **{name: kept[name] for name in _OWN})


def _thinned(heard: Heard, stride: int) -> Heard:
    """With every so manieth moment."""
    return heard._replace(moments=heard.moments[::stride])
