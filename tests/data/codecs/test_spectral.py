"""Sound as codes of frames: it comes back, in pieces as in one, whatever the sound."""

import dataclasses
import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from seqkit.data.codec_choice import choose_window
from seqkit.data.codecs.spectral import CODES, SIZE, Spectral
from seqkit.data.codecs.spectral.books import Books
from seqkit.data.codecs.spectral.codec import SILENCE, limited
from seqkit.data.codecs.spectral.layout import steadied
from seqkit.data.codecs.spectral.transform import PhaseDecoder, Transform
from seqkit.data.etude import compose, render
from seqkit.data.sound import Frames
from seqkit.symbols import Floats

RATE, N = 16_000, 512
PARTIALS = (220.0, 554.4, 1318.5)


def tones(seconds: float = 2, rate: int = RATE) -> Frames:
    time = np.arange(round(seconds * rate)) / rate
    return column(sum((0.2 * np.sin(2 * np.pi * hertz * time) for hertz in PARTIALS), 0 * time))


def noise(seconds: float = 2, rate: int = RATE, channels: int = 1) -> Frames:
    draw = np.random.default_rng(3)
    return 0.1 * draw.standard_normal((round(seconds * rate), channels), np.float32)


def plucks(seconds: float = 4, rate: int = 44_100) -> Frames:
    return column(render(compose(seconds), rate))


def chords(seconds: float = 4, rate: int = 44_100) -> Frames:
    """Saw-tooth waves, two of each note a little out of tune: all partials, no attacks."""
    time = np.arange(round(seconds * rate)) / rate
    wave = 0 * time
    for hertz in (130.8, 131.2, 164.8, 165.3, 196.0, 196.6):
        for place in range(1, int(12_000 / hertz)):
            wave += np.sin(2 * np.pi * hertz * place * time) / place
    return column(0.1 * wave)


def drums(seconds: float = 4, rate: int = 44_100) -> Frames:
    """A short click of noise eight times a second, and a drum under every fourth."""
    draw = np.random.default_rng(0)
    wave, time = np.zeros(round(seconds * rate) + rate), np.arange(rate // 2) / rate
    for hit in range(round(8 * seconds)):
        part = wave[hit * rate // 8 :][: len(time)]
        part += 0.2 * draw.standard_normal(len(time)) * np.exp(-time / 0.015)
        if hit % 4 == 0:
            part += 0.8 * np.sin(2 * np.pi * (50 - 30 * time) * time) * np.exp(-time / 0.1)
    return column(0.5 * wave[: round(seconds * rate)])


def column(wave: Floats) -> Frames:
    return wave.astype(np.float32)[:, None]


def again(samples: Frames, rate: int = RATE, size: int = N) -> Frames:
    """What a codec that was fitted to samples makes of them."""
    codec = Spectral.fit(samples, rate, size)
    return codec.frames(codec.encode(samples))[: len(samples)]


def decibels(samples: Floats) -> float:
    return float(10 * np.log10(np.square(samples).mean() + 1e-20))


def octaves(wave: Floats, count: int = 6) -> Floats:
    """The decibels of the highest octaves of a wave (n,)."""
    power = np.square(np.abs(np.fft.rfft(wave)))
    edges = [len(power) >> place for place in range(count, -1, -1)]
    sums = [power[begin:end].sum() for begin, end in itertools.pairwise(edges)]
    return np.asarray(10 * np.log10(np.array(sums) + 1e-20))


def convergence(made: Frames, wanted: Floats, size: int) -> float:
    """Spectral convergence in decibels (Sturmel and Daudet, 2011), without the ends."""
    found = np.abs(Transform(size).analyser(1)(made, True))[: len(wanted)]
    inside = slice(4, -4)
    missed = np.linalg.norm((found - wanted)[inside]) / np.linalg.norm(wanted[inside])
    return float(20 * np.log10(missed))


def test_the_partials_of_a_tone_come_back_where_they_were_and_as_loud() -> None:
    samples = tones()
    found = [
        np.abs(np.fft.rfft(sound[8000:16_000, 0] * np.hanning(8000)))
        for sound in (samples, again(samples))
    ]
    for hertz in PARTIALS:
        near = slice(round((hertz - 40) / 2), round((hertz + 40) / 2))  # bins of 2 Hz
        peaks = [int(spectrum[near].argmax()) for spectrum in found]
        assert abs(peaks[0] - peaks[1]) <= 2
        powers = [np.square(spectrum[near]).sum() for spectrum in found]
        assert abs(10 * np.log10(powers[1] / powers[0])) < 1


def test_silence_is_a_code_of_its_own_and_is_decoded_to_zeros() -> None:
    samples = np.concatenate([noise(1), np.zeros((RATE, 1), np.float32), noise(1)])
    codec = Spectral.fit(samples, RATE, N)
    codes = codec.encode(samples)
    silent = codes[::CODES] == SILENCE
    inside = slice(RATE // codec.hop + 4, 2 * RATE // codec.hop - 4)
    assert silent[inside].all() and not silent[: RATE // codec.hop - 4].any()
    made = codec.frames(codes)
    assert not made[inside.start * codec.hop : inside.stop * codec.hop].any()
    codes.reshape(-1, CODES)[silent, 1:] = 77  # the others mean nothing
    assert np.array_equal(codec.frames(codes), made)
    nothing = np.zeros((RATE, 1), np.float32)
    assert not again(nothing).any()


@pytest.mark.parametrize("channels", [1, 2])
def test_pieces_give_what_the_whole_gives(channels: int) -> None:
    samples = noise(2, channels=channels)
    codec = Spectral.fit(samples, RATE, N)
    codes, encode = codec.encode(samples), codec.encoder()
    sizes = np.random.default_rng(1).integers(0, 3000, 40)
    parts = np.split(samples, np.minimum(np.cumsum(sizes), len(samples)))
    assert len(codes) == -(-len(samples) // codec.hop) * CODES
    assert np.array_equal(
        np.concatenate([*(encode(part, False) for part in parts), encode(samples[:0], True)]), codes
    )
    made = codec.frames(codes)
    assert made.shape == (len(codes) // CODES * codec.hop, channels)
    for step in (1, 7, 64, 68, 133):
        decode = codec.reader()
        pieces = [decode(codes[at : at + step], False) for at in range(0, len(codes), step)]
        assert np.array_equal(np.concatenate([*pieces, decode(codes[:0], True)]), made)
    late = len(codes) // CODES * codec.hop - sum(map(len, pieces))
    assert late <= 23 * codec.hop  # so much is kept back, and no more


@pytest.mark.parametrize("sound", [plucks, chords, drums])
def test_phases_are_as_consistent_as_many_rounds_of_griffin_and_lims(
    sound: Callable[[], Frames],
) -> None:
    torch, functional = pytest.importorskip("torch"), pytest.importorskip("torchaudio.functional")
    size = 2048
    wanted = np.abs(Transform(size).analyser(1)(sound(), True))
    ours = PhaseDecoder(size, 1)(wanted.astype(np.complex64), True)
    torch.manual_seed(0)
    window, columns = torch.hann_window(size), torch.from_numpy(wanted[:, 0].T.copy())
    theirs = functional.griffinlim(
        columns, window, size, size // 4, size, 1.0, 32, 0.99, None, True
    )
    shifted = np.pad(theirs.numpy(), (size // 8, 0))[
        :, None
    ]  # to the middle of what a frame stands for
    assert convergence(ours, wanted, size) < convergence(shifted, wanted, size) + 2


@pytest.mark.parametrize("rate", [8000, 192_000])
def test_any_rate_does(rate: int) -> None:
    samples = tones(0.4, rate)
    size = choose_window(samples, rate)
    made = again(samples, rate, size)
    assert abs(decibels(made) - decibels(samples)) < 1
    assert 0.02 < size / rate < 0.14


@pytest.mark.parametrize(
    "samples",
    [
        noise(),
        np.clip(20 * noise(), -1, 1),
        np.full((RATE, 1), 0.3, np.float32),
        tones(0.05),
        noise(0.3),
        tones()[:1],
    ],
    ids=["noise", "clipped", "constant", "few frames", "fewer frames than codes", "one sample"],
)
def test_odd_sounds_come_back_as_loud_as_their_peaks_allow(samples: Frames) -> None:
    codec = Spectral.fit(samples, RATE, N)
    made = codec.frames(codec.encode(samples))[: len(samples)]
    quieter = -20 * np.log10(codec.gain)
    assert np.isfinite(made).all()
    assert len(samples) == 1 or abs(decibels(made) + quieter - decibels(samples)) < 1.5
    assert np.abs(made).max() < 1
    assert (codec.gain < 1) == (decibels(samples) > -3)  # clipped
    assert Spectral.from_spec(codec.to_spec()).gain == codec.gain


def test_peaks_are_limited_and_what_is_below_the_knee_stays() -> None:
    codec = Spectral.fit(noise(), RATE, N)
    louder = dataclasses.replace(codec.layout, top=codec.layout.top + 18)
    symbols, loud = codec.encode(noise()), dataclasses.replace(codec, layout=louder)
    quiet, made = 10 ** (18 / 20) * codec.frames(symbols), loud.frames(symbols)
    below = np.abs(quiet) < 0.87
    assert (np.abs(quiet) > 1).sum() > 100 and np.abs(made).max() < 1
    assert np.allclose(made[below], quiet[below], atol=0.02)
    assert np.abs(loud.round_and_round(symbols)).max() < 1
    sizes = np.linspace(0, 1.5, 1001, dtype=np.float32)
    assert np.array_equal(limited(sizes[:584]), sizes[:584])
    assert (np.diff(limited(sizes)) > 0).all()
    assert np.array_equal(limited(-sizes), -limited(sizes))
    assert limited(column(np.array([99.0])))[0, 0] < 1


def test_flicker_is_smoothed_and_attacks_are_not() -> None:
    rng = np.random.default_rng(0)
    steady = np.repeat([[20.0], [60.0], [10.0]], 20, 0)[:, :, None].astype(np.float32)
    levels = steady + rng.normal(0, 0.7, (60, 1, 300)).astype(np.float32)
    found = steadied(levels)
    assert np.abs(found - steady).std() < 0.6 * np.abs(levels - steady).std()
    assert np.abs(found - steady).max() < np.abs(levels - steady).max()
    assert np.array_equal(steadied(steady[:1]), steady[:1])


def test_nothing_is_encoded_to_nothing() -> None:
    codec = Spectral.fit(noise(), RATE, N)
    codes = codec.encode(np.zeros((0, 1), np.float32))
    assert codes.shape == (0,) and codec.frames(codes).shape == (0, 1)


@pytest.mark.parametrize(
    "share", [-1.0, 0.3, 0.0, None], ids=["opposed", "panned", "one channel", "apart"]
)
def test_channels_are_as_wide_as_they_were(share: float | None) -> None:
    samples = noise(3, channels=2)
    if share is not None:
        samples[:, 1] = share * samples[:, 0]
    made = again(samples)
    for channel in range(2):
        assert abs(decibels(made[:, channel]) - decibels(samples[:, channel])) < 1 or share == 0
    widths = [
        octaves(sound[:, 0] - sound[:, 1]) - octaves(sound[:, 0] + sound[:, 1])
        for sound in (samples, made)
    ]
    assert np.abs(np.clip(widths[0], -15, 15) - np.clip(widths[1], -15, 15)).max() < 2


def test_windows_are_long_for_tones_and_short_for_drums() -> None:
    assert choose_window(chords(), 44_100) > choose_window(drums(), 44_100)


def test_books_are_small_and_the_same_after_a_checkpoint() -> None:
    samples = noise(2, 44_100, 2)
    codec = Spectral.fit(samples, 44_100, 4096)
    stored = json.dumps(codec.to_spec())
    assert len(stored) < 1_500_000
    codes, known = codec.encode(samples), Spectral.from_spec(json.loads(stored))
    assert np.array_equal(known.frames(codes), codec.frames(codes))


@pytest.fixture(scope="module")
def spec() -> dict[str, Any]:
    known: dict[str, Any] = json.loads(json.dumps(Spectral.fit(noise(0.5), RATE, N).to_spec()))
    return known


@pytest.mark.parametrize(
    "change",
    [
        *({"size": 500}, {"size": 1 << 30}, {"channels": 3}),
        *({"sample_rate": 0}, {"sample_rate": 1 << 33}),
        *({"top": float("nan")}, {"lift": [1.0]}, {"books": {}}),
    ],
    ids=str,
)
def test_damaged_specs_are_refused(change: dict[str, object], spec: dict[str, Any]) -> None:
    with pytest.raises((ValueError, KeyError)):
        Spectral.from_spec(spec | change)


@pytest.mark.parametrize("name", Books._fields)
def test_damaged_books_are_refused(name: str, spec: dict[str, Any]) -> None:
    content, *shape = spec["books"][name]
    for damaged in ([content[:-8], *shape], [content, shape[0] + 1, *shape[1:]], ["é", *shape]):
        with pytest.raises(ValueError):
            Spectral.from_spec(spec | {"books": spec["books"] | {name: damaged}})
    assert spec["books"]["values"][2] == SIZE
