"""How far a sound is from a recording: nine distances, each 0 for the same sound; and its copies.

Bits say how well a model predicts a recording, and little of how it sounds by itself. So what comes
out is compared with the recording, both times the factor that brings the recording's peak to 0.95.
`hearing` has the statistics that are compared:

- spectrum: the Fréchet distance of log spectra, as the Fréchet audio distance (Kilgour et al.,
  2019) with the power of 32 bands in the place of a trained network's embedding. With the means m
  and covariances C of both sounds' frames it is

      |m1 - m2|² + tr(C1 + C2 - 2 (C1 C2)^½)

- tone: how clear the pitches are: the 1-Wasserstein distance of clarities.
- pitch: which notes it plays: the total variation between the histograms of notes.
- loudness: the 1-Wasserstein distance of levels.
- band: as spectrum, of 38 bands up to 16 kHz.
- contrast: the 1-Wasserstein distance of contrasts, which hiss lowers.
- frames: precision is the share of the sound's moments that could stand in the recording, recall
  the share of the recording's that could stand in the sound (Kynkäänniemi et al., 2019): those that
  are at most as far from a moment of the other as its third neighbour is, or 3 dB in a band. Both
  are divided by what one half of the recording has beside the other; 1 less the lower one.
- flux: the 1-Wasserstein distance of flux, of which 1 is a factor of 2. It hears stripes: frames
  that do not follow from those before, and frames that stand still.
- pulse: 1 less the sound's over the recording's; 0 of a recording that has none.

The first six are divided by the distance of noise from the recording: uniform in ±1 for the
spectrum, even and of the recording's power for band and contrast, normal and of its power for the
others. Of a recording that is itself much like noise that is next to nothing: then by the least
that counts.

What fools them, of which `benchmarks/fooled.py` has figures: order, but for the pulse, so neither
melody nor words count; a second melody, since of a chord they hear one note; less than a semitone;
hiss 40 dB below the sound; clipping, on most. A short sound measures more than a long one that is
as good: compare sounds of the same length, and see the recording's halves beside them. A sound of
a lower rate lacks what it cannot hold: a model that learnt at 8 kHz is compared with its recording
at 8 kHz, see `stages.data`.

Copied are passages in which moments of the recording follow each other. A moment of the sound
stands where the recording's nearest one is, and wherever others are nearly as near, but nowhere if
none is within 6 dB. A passage is a run of moments that stand as far from each other in the
recording, each of them perhaps off by one. Moments that stand in many places, such as those of
noise or of silence, do not count as copied, nor do they end a passage.
"""

from typing import NamedTuple

import numpy as np

from seqkit.evaluation.hearing import (
    FULL,
    LOW,
    MEL_BANDS,
    MOMENTS,
    Heard,
    Levels,
    Matrix,
    Normal,
    Sound,
)
from seqkit.symbols import Flags, Floats, Integers

_NOISE_SECONDS = 4
_LEAST = 1e-9  # of a unit: silence is not far from silence
_NEIGHBOUR = 3
_NEAR = 3.0  # decibels in a band that count as none
_LEAST_SHARE = 0.02  # of moments
_NEARLY, _FAR = 1.0, 6.0  # decibels in a band between moments that stand in one place
_MANY = 0.1  # of the recording
_LONG = 1.0  # seconds of a passage that counts as copied
PULSE = 0.25
"""What has less has no pulse: speech has 0.15, noise 0.1, a strummed guitar 0.4."""


class Distances(NamedTuple):
    """How far a sound is from a recording; see above."""

    spectrum: float
    tone: float
    pitch: float
    loudness: float
    band: float
    contrast: float
    frames: float
    flux: float
    pulse: float


_LEAST_UNIT = Distances(
    spectrum=300, tone=0.1, pitch=1, loudness=1, band=250, contrast=4, frames=1, flux=1, pulse=1
)
"""Of which the limits are what an ear hears: 0.4 and 1 dB of loudness and contrast."""


def noise_from(sound: Sound, heard: Heard) -> Distances:
    """How far noise is from a recording, the unit of each distance."""
    draw = np.random.default_rng(0)
    normal = (draw.standard_normal(len(sound.low)) * sound.low.std()).astype(np.float32)
    even = draw.uniform(-1, 1, _NOISE_SECONDS * LOW).astype(np.float32)
    full = np.random.default_rng(0).uniform(-1, 1, _NOISE_SECONDS * FULL).astype(np.float32)
    full *= np.sqrt(3 * np.square(sound.full).mean())
    of_normal, of_even = (Sound(low, full).hear(heard.floor) for low in (normal, even))
    apart = distances(of_normal, heard)._replace(
        spectrum=frechet(of_even.spectra, heard.spectra), pitch=1.0, frames=1.0, flux=1.0, pulse=1.0
    )
    return Distances(*np.maximum(apart, _LEAST_UNIT).tolist())


def scaled(apart: Distances, unit: Distances) -> Distances:
    """Distances in units of others."""
    return Distances(*(one / max(most, _LEAST) for one, most in zip(apart, unit, strict=True)))


def distances(one: Heard, other: Heard) -> Distances:
    """How far a sound is from a recording, not scaled."""
    ratio = one.pulse / other.pulse if other.pulse >= PULSE else 1.0
    of_one, of_other = (dict(zip(x.notes, x.shares, strict=True)) for x in (one, other))
    return Distances(
        spectrum=frechet(one.spectra, other.spectra),
        tone=wasserstein(one.clarity, other.clarity),
        pitch=sum(abs(of_one.get(n, 0) - of_other.get(n, 0)) for n in of_one | of_other) / 2,
        loudness=wasserstein(one.level, other.level),
        band=frechet(one.bands, other.bands),
        contrast=wasserstein(one.contrast, other.contrast),
        frames=max(1 - min(fidelity(one.moments, other.moments)), 0.0),
        flux=wasserstein(one.flux, other.flux),
        pulse=max(1 - ratio, 0.0),
    )


def wasserstein(one: Matrix, other: Matrix) -> float:
    """Of two distributions, given their quantiles (401,)."""
    return float(np.abs(one - other).mean())


def frechet(one: Normal, other: Normal) -> float:
    """The squared Fréchet distance of two normal distributions (Dowson and Landau, 1982)."""
    apart = np.square(one.mean - other.mean).sum()
    spread = np.trace(one.covariance) + np.trace(other.covariance)
    values = np.linalg.eigvals(one.covariance @ other.covariance).astype(complex)
    return max(float(apart + spread - 2 * np.sqrt(values).real.sum()), 0.0)


def fidelity(sound: Levels, recording: Levels) -> tuple[float, float]:
    """Precision and recall of a sound's moments, divided by those of the recording's halves.

    The sound is compared in pieces that are at most as long as a half, and the halves in pieces as
    long, so that chance counts as much.
    """
    half = len(recording) // 2
    halves = Manifold.of(recording[:half]), Manifold.of(recording[half : 2 * half])
    size = min(len(sound), half)

    def beside(one: Levels, other: Manifold) -> list[tuple[float, float]]:
        begins = np.linspace(0, len(one) - size, -(-len(one) // size)).astype(int)
        return [Manifold.of(one[begin : begin + size]).beside(other) for begin in begins]

    found = np.mean([beside(sound, other) for other in halves], (0, 1))
    own = np.mean([beside(one.frames, other) for one, other in (halves, halves[::-1])], (0, 1))
    precision, recall = (found + _LEAST_SHARE) / (own + _LEAST_SHARE)
    return float(precision), float(recall)


class Manifold(NamedTuple):
    """Moments (n, 32), and the square of the radius (n,) within which each of them stands."""

    frames: Levels
    squares: Floats

    @classmethod
    def of(cls, frames: Levels) -> "Manifold":
        """Of moments, n > 0."""
        apart, place = squares_apart(frames, frames), min(_NEIGHBOUR, len(frames) - 1)
        radii = np.partition(apart, place, axis=1)[:, place]
        return cls(frames, np.maximum(radii, _NEAR**2 * MEL_BANDS))

    def beside(self, other: "Manifold") -> tuple[float, float]:
        """Precision and recall of these moments, if the others are the recording's."""
        apart = squares_apart(self.frames, other.frames)
        precise, recalled = apart <= other.squares, apart <= self.squares[:, None]
        return float(precise.any(1).mean()), float(recalled.any(0).mean())


def squares_apart(one: Levels, other: Levels) -> Floats:
    """The squares of the distances of moments (n, 32) from others (m, 32), (n, m)."""
    lengths = np.square(one).sum(1)[:, None] + np.square(other).sum(1)
    return np.asarray(np.maximum(lengths - 2 * (one @ other.T), 0))


class Copied(NamedTuple):
    """The longest passage in seconds, and the share of the sound in passages of over a second."""

    longest_passage: float
    in_passages: float


def copied(sound: Levels, recording: Levels, stride: int) -> Copied:
    """What is copied: of all moments (n, 32) of a sound, from every `stride`-th one (m, 32)."""
    found = []
    for phase in range(min(stride, len(sound))):  # wherever the recording's moments begin
        apart = np.sqrt(squares_apart(sound[phase::stride], recording) / MEL_BANDS)
        stands = apart <= np.minimum(apart.min(1, keepdims=True) + _NEARLY, _FAR)
        counts = stands.mean(1) <= _MANY
        before, after = _passages(stands, counts), _passages(stands[::-1, ::-1], counts[::-1])
        lengths = (
            (before + after[::-1, ::-1] - counts[:, None] * (before > 0)).max(1) * stride / MOMENTS
        )
        found.append(Copied(float(lengths.max()), float((counts & (lengths > _LONG)).mean())))
    return max(found)


def _passages(stands: Flags, counts: Flags) -> Integers:
    """How many moments that count are in the passage that ends with each, (n, m)."""
    wide, lengths, rows = np.pad(stands, ((0, 0), (1, 1))), np.zeros(stands.shape[1], np.int64), []
    near = wide[:, 2:] | wide[:, 1:-1] | wide[:, :-2]
    for here, one in zip(near, counts, strict=True):
        lengths = np.where(here, one + np.pad(lengths, (1, 0))[:-1], 0)
        rows.append(lengths)
    return np.stack(rows)
