"""The short-time Fourier transform, and sound of magnitudes alone: phases are found anew.

Windows are Hann's, of N samples, one every R = N / 4. Frame t stands for the samples t R … (t + 1)
R - 1, in the middle of its window, so that n samples make ceil(n / R) frames. Silence is assumed
before the first sample and after the last one.

Phase follows from magnitude: along time it turns with the frequency that the slope over the bins
tells, and along frequency with the place in the window that the slope over time tells (Průša and
Søndergaard, "Real-time spectrogram inversion using phase gradient heap integration", 2016). Their
heap visits the bins one by one. Here a frame is cut at its valleys: the peak of each region turns
on from the frame before, and the bins around it follow along frequency, all regions at once. Where
much more begins than there was before, regions are one, so that an attack is one.

The phases are then made consistent by fast Griffin-Lim (Perraudin, Balazs and Søndergaard, 2013),
over a block of frames and some after it, whose phases are kept and made better with the next block
(as in RTISI-LA: Zhu, Beauregard and Wyse, 2007). Blocks are counted from the first frame, so that
the samples are the same however the frames come. All is in double precision: what is rounded grows
as one frame follows another, and samples would differ from machine to machine.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from seqkit.data.sound import Frames, hann
from seqkit.symbols import Floats, Integers

OVERLAP = 4
_SQUARES = 1.5  # the sum of the squares of the windows that overlap in one sample
_BLOCK = 8  # frames that are made final at once
_AHEAD = 8  # frames after them that are looked at
_ROUNDS = 4  # of Griffin-Lim for each block, so twice for a frame
_MOMENTUM = 0.99
_ONSET = 1.0  # nepers by which a frame rises where regions are one
_LEAST = 0.1  # of the windows, up to which those that are missing are made up for
_FAINT = 1e-7  # of N: a magnitude below which nothing is heard
_TINY = 1e-20
# The Gauss window that is most like Hann's has a spread of 0.25645 N² (Průša et al., 2017).
_TURN = 0.25 / (2 * 0.25645)  # radians a hop, per neper from the bin below to the one above
_TILT = 0.25645 / (2 * 0.25)  # radians a bin, per neper from the frame before to the one after

Spectra = npt.NDArray[np.complex64]
"""Frames by channels by bins (F, C, N / 2 + 1)."""
Precise = npt.NDArray[np.complexfloating]
"""The same in double precision."""
Hops = npt.NDArray[np.float64]
"""Sound as (n, C, R)."""
Rows = npt.NDArray[np.float32]
"""Numbers of frames, one row each."""


class Transform:
    """Of windows of `size` N, one every `hop` R; a frame has `bins`.

    before: samples by which a window begins before those that its frame stands for.
    """

    def __init__(self, size: int) -> None:
        """`size` is a multiple of 8."""
        self.size, self.hop, self.bins = size, size // OVERLAP, size // 2 + 1
        self.before = (size - self.hop) // 2
        # In double precision NumPy's transform of real numbers is the faster one.
        self._analysis = hann(size).astype(np.float64)
        self._synthesis = self._analysis / _SQUARES

    def forward(self, hops: npt.NDArray[np.floating]) -> Precise:
        """The frames (F, C, bins) of F + 3 hops."""
        frames = max(len(hops) - OVERLAP + 1, 0)
        pieces = [hops[place : place + frames] for place in range(OVERLAP)]
        windows: Hops = np.concatenate(pieces, -1) * self._analysis
        return np.fft.rfft(windows)

    def backward(self, spectra: Precise) -> Hops:
        """The F + 3 hops whose frames are nearest to (F, C, bins), if silence is around them."""
        frames = np.fft.irfft(spectra, self.size) * self._synthesis
        hops = np.zeros((len(spectra) + OVERLAP - 1, spectra.shape[1], self.hop))
        for place in range(OVERLAP):
            part = frames[..., place * self.hop : (place + 1) * self.hop]
            hops[place : place + len(spectra)] += part
        return hops

    def at(self, samples: Frames, places: Integers) -> Spectra:
        """The frames (F, C, bins) that stand for samples (n, C) from rising places (F,) on."""
        first, last = places[0] - self.before, places[-1] - self.before + self.size
        around = max(-first, 0), max(last - len(samples), 0)
        known = np.pad(samples[max(first, 0) : last], (around, (0, 0)))
        shown = (places - places[0])[:, None] + np.arange(self.size)
        windows = known[shown].transpose(0, 2, 1)
        return np.fft.rfft(windows * self._analysis).astype(np.complex64)

    def analyser(self, channels: int) -> Callable[[Frames, bool], Spectra]:
        """A function that gives the frames of samples (n, C) that come in pieces.

        It is told which piece is the last: zeros then fill up the last frame.
        """
        kept, count = np.zeros((self.before, channels), np.float32), 0

        def analyse(samples: Frames, last: bool) -> Spectra:
            nonlocal kept, count
            count += len(samples)
            after = self.size - self.hop - self.before
            missing = -count % self.hop + after if last else 0
            known = np.concatenate([kept, samples, np.zeros((missing, channels), np.float32)])
            whole = len(known) // self.hop * self.hop
            hops = known[:whole].reshape(-1, self.hop, channels).transpose(0, 2, 1)
            frames = self.forward(hops)
            kept = known[len(frames) * self.hop :]
            return frames.astype(np.complex64)

        return analyse


class PhaseDecoder:
    """Samples of targets (n, C, bins) that come in pieces.

    A target is a complex number. Its size is the magnitude. Its angle is that between the phase of
    the channel and a phase that all channels share, which is found for their magnitudes together.
    """

    def __init__(self, size: int, channels: int) -> None:
        """`size` is N."""
        self._transform = Transform(size)
        bins, hop = self._transform.bins, self._transform.hop
        self._signs = 1 - 2 * (np.arange(bins) % 2)  # N / 2 samples later
        self._targets = np.zeros((0, channels, bins), np.complex64)
        self._common = self._earlier = np.zeros((0, 1, bins), complex)  # of the first targets
        self._common_tail = np.zeros((OVERLAP - 1, 1, hop))
        self._tail = np.zeros((OVERLAP - 1, channels, hop))
        # Windows of frames that are not known yet are missing in the last hops.
        squares = hann(size).astype(float).reshape(OVERLAP, 1, hop) ** 2
        self._known = np.maximum(squares[::-1].cumsum(0)[-2::-1] / squares.sum(0), _LEAST)
        self._count = self._given = 0

    def __call__(self, targets: Spectra, last: bool) -> Frames:
        """The samples (m, C) that follow those given, as far as they are final.

        After the last piece there are R samples of each frame.
        """
        self._targets = np.concatenate([self._targets, targets])
        self._count += len(targets)
        made = [self._tail[:0]]
        while len(self._targets) > _BLOCK + _AHEAD:  # of one more the slope is needed
            made.append(self._final(_BLOCK + _AHEAD, _BLOCK))
        if last:
            left = len(self._targets)
            made += [self._final(left, left), self._tail] if left else [self._tail]
        hops = np.concatenate(made).astype(np.float32)
        samples = hops.transpose(0, 2, 1).reshape(-1, self._tail.shape[1])
        start = self._transform.before - self._given
        self._given += len(samples)
        end = start + self._count * self._transform.hop if last else len(samples)
        return samples[max(start, 0) : max(end, 0)]

    def _final(self, frames: int, final: int) -> Hops:
        """The hops (`final`, C, R) of the first frames, when some `frames` are looked at."""
        targets = self._targets[:frames]
        sizes = _together(targets)
        if frames > len(self._common):
            begun = self._begun(frames)
            self._common = np.concatenate([self._common, begun])
            self._earlier = np.concatenate([self._earlier, begun])
        for _ in range(_ROUNDS):
            hops = self._transform.backward(self._common)
            hops[: OVERLAP - 1] += self._common_tail
            if frames > final:
                hops[1 - OVERLAP :] /= self._known
            consistent = self._transform.forward(hops)
            ahead: Precise = consistent + _MOMENTUM * (consistent - self._earlier)
            self._earlier = consistent
            found = np.sqrt(ahead.real**2 + ahead.imag**2)  # faster than `abs`
            self._common = ahead * (sizes / np.maximum(found, _TINY))
        hops = common_hops = self._transform.backward(self._common[:final])
        common_hops[: OVERLAP - 1] += self._common_tail
        if targets.shape[1] > 1:
            turns = self._common[:final] / np.maximum(sizes[:final], _TINY)
            hops = self._transform.backward(targets[:final] * turns)
            hops[: OVERLAP - 1] += self._tail
        self._common_tail, self._tail = common_hops[final:], hops[final:]
        self._targets = self._targets[final:]
        self._common, self._earlier = self._common[final:], self._earlier[final:]
        return hops[:final]

    def _begun(self, frames: int) -> Precise:
        """What the channels have in common, with first phases, of the targets that have none."""
        known = len(self._common)
        sizes = _together(self._targets[max(known - 1, 0) : frames + 1])
        before, phase = sizes[:1], np.zeros(self._transform.bins)
        if known:
            # Of a bin that is silent 0 is neither -0 nor +0, by which its phase would be π or 0.
            last, sizes = self._common[-1, 0] * self._signs + 0.0, sizes[1:]
            phase = np.arctan2(last.imag, last.real)
        shown = np.concatenate([before, sizes, sizes[-1:]])[: frames - known + 2, 0]
        logs = np.log(np.maximum(shown, _FAINT * self._transform.size))
        phases = first_phases(logs, phase)[:, None]
        turned = (np.cos(phases) + 1j * np.sin(phases)) * self._signs
        return sizes[: frames - known] * turned


def _together(targets: Spectra) -> Floats:
    """The magnitudes (n, 1, bins) of all channels of targets (n, C, bins)."""
    squares = targets.real.astype(float) ** 2 + targets.imag.astype(float) ** 2
    sizes: Floats = np.sqrt(squares.sum(1, keepdims=True))
    return sizes


def first_phases(logs: Floats, phase: Floats) -> Floats:
    """Phases (n, bins) of frames, in radians, as seen from the middle of each window.

    Args:
        logs: of magnitudes, (n + 2, bins): of the frame before, of the frames, of the one after.
        phase: of the frame before, (bins,).
    """
    bins = logs.shape[1]
    turns = np.pi / 2 * np.arange(bins) + 2 * _TURN * np.gradient(logs[:-1], axis=1)
    turns = (turns[1:] + turns[:-1]) / 2
    tilt = np.clip(-_TILT * (logs[2:] - logs[:-2]), -np.pi, np.pi)
    along = np.zeros((len(tilt), bins))
    np.cumsum((tilt[:, 1:] + tilt[:, :-1]) / 2, 1, out=along[:, 1:])
    roots = _roots(logs[1:-1], logs[:-2])
    along -= np.take_along_axis(along, roots, 1)
    phases = np.empty_like(along)
    for row, (turn, root) in enumerate(zip(turns, roots, strict=True)):
        phase = phases[row] = (phase + turn)[root] + along[row]
    return phases


def _roots(logs: Floats, earlier: Floats) -> Integers:
    """Of each bin (n, bins) the one whose phase it follows, by the frames and those before them."""
    bins = logs.shape[1]
    rising = np.diff(logs, axis=1) > 0
    edge = np.ones((len(logs), 1), bool)
    peaks = np.flatnonzero(np.hstack([edge, rising]) & ~np.hstack([rising, ~edge])) % bins
    starts = np.hstack([edge, rising[:, 1:] & ~rising[:, :-1], ~edge])
    firsts = np.flatnonzero(starts)  # of each region, which begins in a valley and has one peak
    was = np.maximum.reduceat(earlier.reshape(-1), firsts)
    apart = firsts % bins == 0
    apart[1:] |= logs.reshape(-1)[firsts[1:]] <= np.minimum(was[1:], was[:-1]) + _ONSET
    joined = np.cumsum(apart) - 1
    best = was == np.maximum.reduceat(was, np.flatnonzero(apart))[joined]
    roots: Integers = np.zeros(joined[-1] + 1, np.int64)
    roots[joined[best]] = peaks[best]  # the highest of those with most before
    regions = np.cumsum(starts.reshape(-1)) - 1
    followed: Integers = roots[joined[regions]].reshape(logs.shape)
    return followed
