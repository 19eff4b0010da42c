"""How much a sound is like a recording: four distances, each 0 for the same and 1 for noise.

Bits say how well a model predicts a recording, and little of how it sounds by itself. So what comes
out is compared with the recording, both at 8 kHz, mono, times the factor that brings the
recording's peak to 0.95:

- spectrum: the Fréchet distance of log spectra, as the Fréchet audio distance (Kilgour et al.,
  2019) with the power of 32 bands in the place of a trained network's embedding. Of every frame
  (512 samples under a Hann window, 128 apart) P is the mean power in 32 bands with edges at the
  bins 256 (i / 32)^1.6, at least one bin each, and the frame is the vector 10 log10(P + 1e-7). With
  the means m and covariances C of both sounds' frames the distance is

      |m1 - m2|² + tr(C1 + C2 - 2 (C1 C2)^½)

- tone: how clear the frames' pitches are. Of every frame (512 samples, 160 apart) the highest
  autocorrelation at lags of 2 to 20 ms, divided by that at lag 0 and by the window's own (Boersma,
  1993); 0 for frames 45 dB below the loudest. The distance is the 1-Wasserstein one.
- pitch: which notes it plays. The histogram of the semitones of the frames whose clarity is above
  0.7, and of those without pitch as one bin; the distance is the total variation.
- loudness: the 1-Wasserstein distance of the frames' levels in decibels, from -70 on.

Spectrum, tone and loudness are divided by the distance of noise from the recording: uniform in ±1
for the spectrum, normal and of the recording's power for the others.

Together they hear timbre, clarity, which notes, how often and how loud. They do not hear order: the
recording cut into pieces of 0.1 s in a random order measures almost nothing, so neither rhythm nor
melody nor words count. Of a chord they hear one note. A short sound measures more than a long one
that is as good: compare sounds of the same length, and see the recording's halves beside them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seqkit.data.sound import Wave
from seqkit.data.sound.resample import resample
from seqkit.symbols import Integers

RATE = 8000
"""Hertz at which sounds are compared."""
_PEAK = 0.95  # of the recording
_SIZE, _HOP = 512, 128
SHORTEST = _SIZE + 3 * _HOP
"""Samples at `RATE` of the shortest sound that is compared: four frames of a spectrum."""
_BANDS, _WARP = 32, 1.6
_FLOOR = 1e-7
_NOISE_SECONDS = 4
_FRAMES = 4096  # that are computed at a time

_STEP = 160  # between frames whose pitch and level are found
_LAGS = 16, 160  # samples: 500 to 50 Hz
_QUIET = 45  # decibels below its loudest frame at which a frame has no tone
_CLEAR = 0.7  # clarity of a frame that has a pitch
_NEARLY = 0.93  # of the best lag's clarity: the shortest lag that has it is the period
_NO_PITCH = -999.0
_SHARES = np.linspace(0, 1, 401)  # at which quantiles are compared

NEEDED = (0.10, 0.25, 0.45, 0.40)
"""Distances up to which a sound counts as like its recording, whatever the recording."""
_SLACK = 1.5  # times the distances of the recording's halves, or pieces, which are enough, too
_LENGTHS = (1.0, 2.0, 5.0, 10.0)  # seconds of pieces
_MOST_PIECES = 40  # of each length
_QUIETER = 20.0  # decibels below the recording's quietest second, from which on that is silence
_CLEAR_SHARE = 0.2  # of the frames of every second: a recording that never is without a tone
_COARSE = 100  # levels within which two samples count as the same
_LEAST = 1e-9  # of a unit: silence is not far from silence
_KEPT = ("level", "clarity", "notes", "shares")
_SCALARS = ("factor", "unit", "halves", "quietest", "least_pitched", "loops")

_Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Frames:
    """What is kept of a sound: the mean (32,) and the covariance (32, 32) of its frames."""

    mean: _Matrix
    covariance: _Matrix


class Distances(NamedTuple):
    """How far a sound is from a recording; see above."""

    spectrum: float
    tone: float
    pitch: float
    loudness: float


class Judgement(NamedTuple):
    """Whether a sound is like its recording, and that in words that follow "it"."""

    is_like: bool
    words: str


class _Heard(NamedTuple):
    """What is kept of a sound's frames.

    spectra: their mean and covariance.
    level, clarity: their quantiles at `_SHARES`, (401,).
    notes, shares: the semitones that there are, `_NO_PITCH` among them, and their share of the
        frames, (n,).
    """

    spectra: Frames
    level: _Matrix
    clarity: _Matrix
    notes: _Matrix
    shares: _Matrix

    @property
    def pitched(self) -> float:
        """The share of the frames that have a pitch."""
        return float(self.shares[self.notes != _NO_PITCH].sum())


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
    heard: _Heard
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
        heard = _hear(wave)
        unit = _noise(wave, heard)
        first, second = (_hear(half) for half in (wave[: len(wave) // 2], wave[len(wave) // 2 :]))
        unit_of_half = _noise(wave[len(wave) // 2 :], second)
        seconds = _pieces(wave, min(RATE, len(wave)))
        pieces = []
        for length in _LENGTHS:
            if 2 * length * RATE < len(wave):
                found = [_distances(_hear(one), heard) for one in _pieces(wave, int(length * RATE))]
                pieces.append((length, _scaled(Distances(*np.median(found, 0).tolist()), unit)))
        return cls(
            factor=_PEAK / peak,
            heard=heard,
            unit=unit,
            halves=_scaled(_distances(first, second), unit_of_half),
            pieces=pieces,
            quietest=min(_level(second) for second in seconds),
            least_pitched=min(_hear(second).pitched for second in seconds),
            loops=any(loops(np.round(second * _COARSE).astype(np.int64)) for second in seconds),
        )

    def measure(self, wave: Wave, sample_rate: int) -> Distances:
        """How far a sound (N,) is from the recording.

        Raises:
            ValueError: it is shorter than four frames.
        """
        return _scaled(_distances(self._hear(wave, sample_rate), self.heard), self.unit)

    def needed(self, seconds: float) -> Distances:
        """The distances up to which a sound of this length counts as like it."""
        likened = [self.halves]
        likened += [next((far for length, far in self.pieces if length >= seconds), self.halves)]
        worst = np.max(likened, 0) * _SLACK
        return Distances(*np.maximum(NEEDED, worst).tolist())

    def judged(self, wave: Wave, sample_rate: int) -> Judgement:
        """Whether a sound (N,) is like the recording; the words have its distances, too."""
        try:
            heard = self._hear(wave, sample_rate)
        except ValueError:
            return Judgement(False, "is too short to compare with the recording")
        found = _scaled(_distances(heard, self.heard), self.unit)
        most = self.needed(len(wave) / sample_rate)
        apart = [n for n, one, bound in zip(found._fields, found, most, strict=True) if one > bound]
        values = ", ".join(f"{name} {value:.2f}" for name, value in found._asdict().items())
        beside = f"({values}; the same: 0, noise: 1)"
        if not apart:
            return Judgement(True, f"sounds like the recording {beside}")
        clearness = "less clear" if heard.pitched < self.heard.pitched else "clearer"
        words = {
            "spectrum": "its timbre is another",
            "tone": f"its tones are {clearness}",
            "pitch": "it plays other notes",
            "loudness": "its loudness varies in another way",
        }
        if heard.pitched < self.heard.pitched / 3:
            words |= {"tone": "the recording is pitched, it is not", "pitch": ""}
        told = ", ".join(words[name] for name in apart if words[name])
        return Judgement(False, f"does not sound like the recording: {told} {beside}")

    def fault(self, wave: Wave, sample_rate: int) -> str | None:
        """What a second of sound (N,) has that no second of the recording has, if anything."""
        heard = resample(wave, sample_rate, RATE) * np.float32(self.factor)
        if _level(heard) < self.quietest - _QUIETER:
            return "silence"
        if self.least_pitched > _CLEAR_SHARE and _hear(heard).pitched < self.least_pitched / 4:
            return "no tone"
        return None

    def _hear(self, wave: Wave, sample_rate: int) -> _Heard:
        return _hear(resample(wave, sample_rate, RATE) * np.float32(self.factor))

    def tensors(self) -> dict[str, Tensor]:
        """All of it as tensors, by name."""
        spectra = {"mean": self.heard.spectra.mean, "covariance": self.heard.spectra.covariance}
        frames = {name: getattr(self.heard, name) for name in _KEPT}
        scalars = {name: np.array(getattr(self, name)) for name in _SCALARS}
        rows = [(length, *far) for length, far in self.pieces]
        pieces = {"pieces": np.array(rows, np.float64).reshape(-1, 5)}
        found = spectra | frames | scalars | pieces
        return {name: torch.from_numpy(values.astype(np.float64)) for name, values in found.items()}

    @classmethod
    def of_saved(cls, tensors: dict[str, Tensor]) -> "Recording":
        """What `tensors` were taken from. Raises KeyError, TypeError, ValueError for others."""
        own = {name: values.numpy() for name, values in tensors.items()}
        spectra = Frames(own["mean"].reshape(_BANDS), own["covariance"].reshape(_BANDS, _BANDS))
        return cls(
            factor=float(own["factor"]),
            heard=_Heard(spectra, *(own[name] for name in _KEPT)),
            unit=Distances(*own["unit"].tolist()),
            halves=Distances(*own["halves"].tolist()),
            pieces=[(row[0], Distances(*row[1:])) for row in own["pieces"].tolist()],
            quietest=float(own["quietest"]),
            least_pitched=float(own["least_pitched"]),
            loops=bool(own["loops"]),
        )


def pitched(wave: Wave, sample_rate: int) -> float:
    """The share of the frames of a sound (N,) that have a pitch.

    Raises:
        ValueError: it is shorter than four frames.
    """
    return _hear(resample(wave, sample_rate, RATE)).pitched


def loops(symbols: Integers) -> bool:
    """Whether the first half of symbols (N,) recurs exactly within them."""
    content = symbols.tobytes()
    return content.find(content[: len(content) // 2], symbols.itemsize) > 0


def _level(wave: Wave) -> float:
    return 10 * math.log10(float(np.square(wave, dtype=np.float64).mean()) + _FLOOR)


def _pieces(wave: Wave, size: int) -> list[Wave]:
    """Pieces of so many samples, from the first to the last, half of one apart but at most 40."""
    count = min(_MOST_PIECES, 2 * len(wave) // size - 1)
    begins = np.linspace(0, len(wave) - size, count).astype(int).tolist()
    return [wave[begin : begin + size] for begin in begins]


def _noise(wave: Wave, heard: _Heard) -> Distances:
    """How far noise is from a recording, the unit of each distance."""
    draw = np.random.default_rng(0)
    normal = draw.standard_normal(len(wave)) * wave.std()
    even = draw.uniform(-1, 1, _NOISE_SECONDS * RATE).astype(np.float32)
    found = _distances(_hear(normal.astype(np.float32)), heard)
    return found._replace(spectrum=distance(frames_of(even), heard.spectra), pitch=1.0)


def _scaled(found: Distances, unit: Distances) -> Distances:
    return Distances(*(one / max(most, _LEAST) for one, most in zip(found, unit, strict=True)))


def _distances(one: _Heard, other: _Heard) -> Distances:
    return Distances(
        distance(one.spectra, other.spectra),
        _wasserstein(one.clarity, other.clarity),
        _total_variation(one, other),
        _wasserstein(one.level, other.level),
    )


def _wasserstein(one: _Matrix, other: _Matrix) -> float:
    """Of two distributions, given their quantiles (401,)."""
    return float(np.abs(one - other).mean())


def _total_variation(one: _Heard, other: _Heard) -> float:
    known = [dict(zip(heard.notes, heard.shares, strict=True)) for heard in (one, other)]
    apart = [abs(known[0].get(note, 0) - known[1].get(note, 0)) for note in known[0] | known[1]]
    return float(sum(apart) / 2)


def _hear(wave: Wave) -> _Heard:
    """The frames of a wave (N,) at `RATE`. Raises ValueError for fewer than `SHORTEST` samples."""
    spectra = frames_of(wave)
    blocks = [_periods(frames) for frames in _blocks(wave, _STEP)]
    level, clarity, lag = (np.concatenate(column) for column in zip(*blocks, strict=True))
    clarity = np.where(level > level.max() - _QUIET, clarity, 0.0)
    semitone = np.where(clarity > _CLEAR, np.round(12 * np.log2(RATE / lag / 440)), _NO_PITCH)
    notes, counts = np.unique(semitone, return_counts=True)
    levels, clarities = (np.quantile(values, _SHARES) for values in (level, clarity))
    return _Heard(spectra, levels, clarities, notes, counts / len(semitone))


def _periods(frames: _Matrix) -> tuple[_Matrix, _Matrix, _Matrix]:
    """Level in decibels, clarity and period in samples of frames (n, 512), each (n,)."""
    frames = frames - frames.mean(1, keepdims=True)
    level = 10 * np.log10(np.square(frames).mean(1) + _FLOOR)
    window = np.hanning(_SIZE)
    first, beyond = _LAGS
    own = _autocorrelation(window[None])
    found = _autocorrelation(frames * window) / own * own[:, :1]
    found = found[:, first : beyond + 1] / (found[:, :1] + 1e-12)
    inside = found[:, :-1]
    clarity = inside.max(1).clip(0, 1)
    # The shortest lag that is nearly as good, so that no octave below is taken; from it uphill.
    near = (inside > _NEARLY * clarity[:, None]).argmax(1)
    places = np.arange(beyond - first)
    downhill = np.diff(found, axis=1) <= 0
    downhill[:, -1] = True
    lag = (downhill & (places >= near[:, None])).argmax(1)
    return level, clarity, (first + lag).astype(np.float64)


def _autocorrelation(frames: _Matrix) -> _Matrix:
    """Of frames (n, 512), at lags of 0 to 160 samples (n, 161)."""
    power = np.square(np.abs(np.fft.rfft(frames, 2 * _SIZE, axis=1)))
    found: _Matrix = np.fft.irfft(power, axis=1)[:, : _LAGS[1] + 1]
    return found


def _blocks(wave: Wave, step: int) -> Iterator[_Matrix]:
    """Frames (n, 512) of a wave, so many samples apart, some at a time."""
    windows = np.lib.stride_tricks.sliding_window_view(wave, _SIZE)[::step]
    for begin in range(0, len(windows), _FRAMES):
        yield windows[begin : begin + _FRAMES].astype(np.float64)


def frames_of(wave: Wave) -> Frames:
    """The frames of a wave (N,) at `RATE`. Raises ValueError for fewer than `SHORTEST` samples."""
    if len(wave) < SHORTEST:
        raise ValueError(f"a sound of at least {SHORTEST / RATE:g} s is needed")
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_SIZE) / _SIZE)
    edges = _edges()
    blocks = []
    for frames in _blocks(wave, _HOP):
        spectrum = np.fft.rfft(frames * hann)[:, : edges[-1]]
        power = np.add.reduceat(np.square(np.abs(spectrum)), edges[:-1], axis=1)
        blocks.append(10 * np.log10(power / np.diff(edges) + _FLOOR))
    powers = np.concatenate(blocks)
    return Frames(powers.mean(0), np.cov(powers, rowvar=False))


def distance(one: Frames, other: Frames) -> float:
    """The squared Fréchet distance of two normal distributions (Dowson and Landau, 1982)."""
    root = _root(one.covariance)
    # (C1 C2)^½ and (C1^½ C2 C1^½)^½ have the same trace; the second is symmetric.
    inner = root @ other.covariance @ root
    cross = np.sqrt(np.linalg.eigvalsh(inner).clip(min=0)).sum()
    apart = np.square(one.mean - other.mean).sum()
    traces = np.trace(one.covariance) + np.trace(other.covariance)
    return max(float(apart + traces - 2 * cross), 0.0)


def _root(matrix: _Matrix) -> _Matrix:
    """The square root of a symmetric matrix without negative eigenvalues, but for rounding."""
    values, vectors = np.linalg.eigh(matrix)
    found: _Matrix = (vectors * np.sqrt(values.clip(min=0))) @ vectors.T
    return found


def _edges() -> npt.NDArray[np.int64]:
    """Where the bands begin among the bins of a spectrum, and where the last one ends, (33,)."""
    edges = np.round(_SIZE // 2 * (np.arange(_BANDS + 1) / _BANDS) ** _WARP).astype(np.int64)
    for band in range(1, _BANDS + 1):
        edges[band] = max(edges[band], edges[band - 1] + 1)
    return edges
