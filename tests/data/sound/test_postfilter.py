"""The postfilter against its formula, in pieces, around loops, and on sound that is none."""

import dataclasses

import numpy as np
import pytest

from seqkit.data.sound import Frames
from seqkit.data.sound.postfilter import OFF, Filtering, Postfilter, window_of
from seqkit.symbols import Floats

RATES = (300, 8000, 11025, 44100)
USUAL = Postfilter(2.0, 12.0)


def hissing(rate: int, seconds: float = 0.7, channels: int = 1, hiss: float = 0.003) -> Frames:
    """Two partials in hiss."""
    times = np.arange(round(seconds * rate))[:, None] / rate
    phases = np.arange(channels)
    turns = 2 * np.pi * rate * times
    tone = np.sin(0.09 * turns + phases) + np.sin(0.23 * turns + phases)
    noise = np.random.default_rng(1).normal(0, hiss, tone.shape)
    made: Frames = (0.3 * tone + noise).astype(np.float32)
    return made


def by_the_formula(wave: Floats, rate: int, filter_: Postfilter) -> Floats:
    """The postfilter of a wave (N,), bin by bin."""
    size = window_of(rate)
    hop, count = size // 4, size // 2 + 1
    times = np.arange(size)
    window = np.sin(np.pi * times / size)  # the root of Hann's
    turns = np.exp(-2j * np.pi * np.outer(np.arange(count), times) / size)
    padded = np.pad(wave.astype(np.float64), (size, 2 * size))
    made = np.zeros_like(padded)
    for begin in range(0, len(padded) - size + 1, hop):
        spectrum = turns @ (padded[begin : begin + size] * window)
        level = 10 * np.log10(np.abs(spectrum) ** 2 + 1e-9)
        for k in range(count):
            highest = level[max(k - filter_.reach, 0) : k + filter_.reach + 1].max()
            down = filter_.slope * max(0, highest - level[k] - filter_.onset)
            spectrum[k] *= 10 ** (-min(24, down) / 20)
        twice = np.where((np.arange(count) % (size // 2)) == 0, 1, 2)
        frame = (twice[:, None] * spectrum[:, None] * turns.conj()).sum(0).real / size
        made[begin : begin + size] += frame * window / 2
    return made[size : size + len(wave)]


@pytest.mark.parametrize("rate", [300, 2000, 8000])
@pytest.mark.parametrize("reach", [1, 16, 256])
def test_it_is_what_its_formula_says(rate: int, reach: int) -> None:
    frames, postfilter = hissing(rate, 0.3), dataclasses.replace(USUAL, reach=reach)
    expected = by_the_formula(frames[:, 0], rate, postfilter)
    np.testing.assert_allclose(postfilter.filtered(frames, rate)[:, 0], expected, atol=1e-6)
    assert np.abs(expected - frames[:, 0]).max() > 1e-4


@pytest.mark.parametrize("rate", RATES[1:])
def test_hiss_is_turned_down_and_partials_are_not(rate: int) -> None:
    frames, made = hissing(rate, 2), USUAL.filtered(hissing(rate, 2), rate)
    inside = slice(rate // 4, -rate // 4)
    levels = []
    for sound in (frames, made):
        piece = sound[inside, 0] * np.hanning(len(sound[inside]))
        power = np.square(np.abs(np.fft.rfft(piece)))
        partials = [round(share * len(piece)) for share in (0.09, 0.23)]
        beside = 0.09 + np.array([100, 200]) / rate  # within 250 Hz of a partial
        between = power[slice(*np.round(beside * len(piece)).astype(int).tolist())]
        levels.append((10 * np.log10(power[partials]), 10 * np.log10(between.mean())))
    assert np.abs(levels[1][0] - levels[0][0]).max() < 0.3
    assert levels[0][1] - levels[1][1] > 6


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("channels", [1, 2])
def test_pieces_are_those_of_the_whole(rate: int, channels: int) -> None:
    frames = hissing(rate, channels=channels)
    whole = USUAL.filtered(frames, rate)
    assert whole.dtype == np.float32 and whole.shape == frames.shape
    draw = np.random.default_rng(2)
    for many in (1, 5, 200):
        places = np.sort(draw.integers(0, len(frames), many))
        filtering = Filtering(USUAL, rate, channels)
        made, read = [], 0
        for piece in np.split(frames, places):
            made.append(filtering.convert(piece))
            read += len(piece)
            assert read - sum(map(len, made)) <= window_of(rate)  # no more is held back
        made.append(filtering.convert(frames[:0], last=True))
        assert np.array_equal(np.concatenate(made), whole)
    for channel in range(channels):
        alone = USUAL.filtered(frames[:, channel : channel + 1], rate)
        assert np.array_equal(alone[:, 0], whole[:, channel])


@pytest.mark.parametrize("count", [40, 1000, 5003, 8000])
def test_the_end_of_a_loop_meets_its_beginning(count: int) -> None:
    """Played round and round it is as smooth there as within; by itself it is not."""
    hertz = round(0.1 * count) / count
    tone = 0.5 * np.sin(2 * np.pi * hertz * np.arange(count))
    frames: Frames = (tone + np.random.default_rng(4).normal(0, 0.003, count))[:, None]
    frames = frames.astype(np.float32)

    def bend(wave: Frames) -> Floats:
        """How far samples, around the seam first, are from those of the tone's pitch."""
        around = np.concatenate([wave[-3:], wave, wave[:3]])[:, 0]
        apart = around[2:] - 2 * np.cos(2 * np.pi * hertz) * around[1:-1] + around[:-2]
        return np.asarray(np.abs(apart))

    found = bend(USUAL.looped(frames, 8000))
    assert max(found[:4].max(), found[-4:].max()) < 1.5 * found[4:-4].max()
    cut = bend(USUAL.filtered(frames, 8000))
    assert max(cut[:4].max(), cut[-4:].max()) > max(found[:4].max(), found[-4:].max())
    assert OFF.looped(frames, 8000) is frames
