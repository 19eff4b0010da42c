"""Sound as P symbols of V a frame: magnitudes by a residual vector quantiser, phases found anew.

Symbols are flat, (F P,), and those of a frame follow each other, the coarsest first. Every document
begins with a whole frame; SILENCE stands before it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from seqkit.config import HIGHEST_RATE
from seqkit.data.codecs.spectral.books import Books, decoded, encoded, fit
from seqkit.data.codecs.spectral.layout import AROUND, Layout
from seqkit.data.codecs.spectral.transform import OVERLAP, PhaseDecoder, Rows, Spectra, Transform
from seqkit.data.sound import Frames, Wave
from seqkit.symbols import Floats, Integers, Symbols, checked_symbols, symbol_dtype

CODES, SIZE = 4, 256
SILENCE = 0
"""The first symbol of a frame of silence; those after it mean nothing."""

_SHIFTS = 4  # places in a hop at which frames are taken of short recordings
_AT_ONCE = 512  # frames
_PARTS, _PART = 24, 0.5  # of an excerpt, of so many seconds
_MOST_LIFT = 6.0  # decibels
_CLIPPED = 0.001  # of the samples, of which nothing is heard
_AROUND = 24  # frames of a loop, after which those before them no longer matter
_FADE = 0.05  # seconds from its end to its beginning
_MOST_ROW = 1e4  # of a value of a row
_KNEE = 0.875  # of full scale: the size up to which samples stay as they are
_MOST_SIZE = 1 - 2**-24  # the largest float32 below full scale


@dataclass(frozen=True)
class Spectral:
    """Symbols of a recording that it was fitted to, and back."""

    kind: ClassVar[Literal["audio"]] = "audio"
    name: ClassVar[str] = "spectral"
    size: ClassVar[int] = SIZE
    """V, the number of symbols."""
    phases: ClassVar[int] = CODES
    """P, the symbols of a frame."""
    start: ClassVar[int] = SILENCE
    """The symbol that stands before the first one of every document."""

    layout: Layout
    books: Books
    gain: float = 1.0
    """How loud its sounds are, their recording being 1. The phases of a loud recording keep its
    peaks low, and those that are found anew do not: less makes room for them."""

    @classmethod
    def fit(cls, samples: Frames, sample_rate: int, window: int, most: int = 16384) -> "Spectral":
        """The codec for samples (n, C), n > 0, with windows of `window` N samples.

        It is fitted to at most so many frames, which lie as far from each other.
        """
        transform = Transform(window)
        step = max(transform.hop // _SHIFTS, -(-len(samples) // most))
        top = max(float(np.abs(part).max()) for part in _parts(transform, samples, step))
        channels = samples.shape[1]
        layout = Layout(window, sample_rate, channels, 20 * float(np.log10(max(top, 1e-5))))
        parts = [layout.rows(part) for part in _parts(transform, samples, step)]
        rows = np.concatenate([part[~layout.silent(part)] for part in parts])
        codec = cls(layout, fit(rows if len(rows) else parts[0][:1], CODES, SIZE))
        return codec._levelled(excerpt(samples, sample_rate))

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Rebuild one from `to_spec()`. Raises any exception for another spec."""
        lift = tuple(float(decibels) for decibels in spec["lift"])
        size, rate, channels = (int(spec[name]) for name in ("size", "sample_rate", "channels"))
        layout = Layout(size, rate, channels, float(spec["top"]), lift)
        right = size in range(16, 1 << 16, 8) and channels in (1, 2)
        right &= rate in range(1, HIGHEST_RATE + 1)
        if not (right and abs(layout.top) < 200 and all(abs(band) < 40 for band in lift)):
            raise ValueError("no values of a spectral codec")
        codec = cls(layout, Books.from_spec(spec["books"]), float(spec.get("gain", 1)))
        right = len(lift) in (0, channels * len(layout.edges)) and 0.01 < codec.gain <= 1
        right &= codec.books.shape == (CODES, SIZE, layout.columns)
        if not (right and (np.abs(codec._tables) < _MOST_ROW).all()):
            raise ValueError("no values of a spectral codec")
        return codec

    def to_spec(self) -> dict[str, Any]:
        """A JSON object from which `from_spec` rebuilds this codec."""
        books = self.books.to_spec()
        return {"name": self.name, **asdict(self.layout), "gain": self.gain, "books": books}

    @property
    def sample_rate(self) -> int:
        """In hertz."""
        return self.layout.sample_rate

    @property
    def channels(self) -> int:
        """C, 1 or 2."""
        return self.layout.channels

    @property
    def hop(self) -> int:
        """R, the samples of a frame."""
        return self.layout.size // OVERLAP

    @property
    def symbol_rate(self) -> float:
        """Symbols of a second of sound."""
        return self.phases * self.sample_rate / self.hop

    def symbols_of(self, samples: float) -> int:
        """The symbols of so many samples of all channels, to the nearest frame."""
        return round(samples / self.hop) * self.phases

    def samples_of(self, symbols: int) -> int:
        """The samples of each channel in so many symbols, of whole frames."""
        return symbols // self.phases * self.hop

    def encode(self, samples: Wave | Frames) -> Symbols:
        """The symbols (F P,) of samples (n,), the same in all channels, or (n, C).

        F is n / R, rounded up.
        """
        columns = samples[:, None] if samples.ndim == 1 else samples
        return self.encoder()(np.broadcast_to(columns, (len(samples), self.channels)), True)

    def decode(self, symbols: npt.ArrayLike) -> Wave:
        """The wave (F R,) of symbols (F P,), of several channels their mean."""
        wave: Wave = self.frames(symbols).mean(1)
        return wave

    def frames(self, symbols: npt.ArrayLike) -> Frames:
        """The samples (F R, C) of symbols (F P,). Raises ConfigError for what are none."""
        return self.reader()(symbols, True)

    def encoder(self) -> Callable[[Frames, bool], Symbols]:
        """A function that gives the symbols of samples (n, C) that come in pieces.

        It is told which piece is the last.
        """
        analyse = Transform(self.layout.size).analyser(self.channels)

        def encode(samples: Frames, last: bool) -> Symbols:
            rows = self.layout.rows(analyse(samples, last))
            codes = encoded(rows, self._tables)
            codes[self.layout.silent(rows)] = SILENCE
            return codes.reshape(-1).astype(symbol_dtype(SIZE))

        return encode

    def reader(self) -> Callable[[npt.ArrayLike, bool], Frames]:
        """A function that gives the samples (n, C) of symbols that come in pieces (N,).

        It is told which piece is the last, and keeps up to 23 frames back until then. What a piece
        holds of a frame that is not at its end is kept for the next one. Raises ConfigError for
        what are no symbols.
        """
        read = self.unlimited()
        return lambda symbols, last: limited(read(symbols, last))

    def unlimited(self) -> Callable[[npt.ArrayLike, bool], Frames]:
        """A function like that of `reader`, whose samples may exceed full scale."""
        decode = PhaseDecoder(self.layout.size, self.channels)
        kept, begun = np.zeros(0, np.int64), 0

        def read(symbols: npt.ArrayLike, last: bool) -> Frames:
            nonlocal kept, begun
            known = np.concatenate([kept, checked_symbols(symbols, SIZE)])
            whole = len(known) // CODES
            codes = known[: whole * CODES].reshape(-1, CODES)
            end = whole if last else max(whole - AROUND, begun)
            targets = self.targets(codes)[begun:end]
            first = max(end - AROUND, 0)
            kept, begun = known[first * CODES :], end - first
            return decode(targets, last)

        return read

    def round_and_round(self, symbols: npt.ArrayLike) -> Frames:
        """The samples (F R, C) of a loop's symbols (F P,): its last one is followed by its first.

        Phases follow from what is before. So the beginning is decoded after the end, too, and that
        fades into how it is decoded before all else.
        """
        loop = checked_symbols(symbols, SIZE)
        loop = loop[: len(loop) // CODES * CODES]
        if not len(loop):
            return self.frames(loop)
        places = np.arange(-_AROUND * CODES, len(loop) + _AROUND * CODES)
        read, first = self.unlimited(), _AROUND * self.hop
        samples = read(np.take(loop, places, mode="wrap"), True)
        made, later = samples[first:-first], samples[-first:]
        fade = min(round(_FADE * self.sample_rate), first, len(made))
        angle = (np.arange(fade)[:, None] + 0.5) / fade * np.pi / 2
        head, tail = made[:fade], later[:fade]
        sizes = np.sqrt(np.square(head).sum() * np.square(tail).sum())
        alike = np.clip((head * tail).sum() / max(sizes, 1e-9), -0.9, 1)
        mixed = np.sin(angle) * head + np.cos(angle) * tail
        mixed /= np.sqrt(1 + alike * np.sin(2 * angle))
        return limited(np.concatenate([mixed.astype(np.float32), made[fade:]]))

    def targets(self, codes: Integers) -> Spectra:
        """What `PhaseDecoder` makes sound of, for codes (F, P) that follow each other."""
        return self.layout.targets(self._rows(codes))

    @cached_property
    def _tables(self) -> Rows:
        return self.books.tables()

    def powers(self, symbols: npt.ArrayLike) -> Floats:
        """How loud each frame of symbols (F P,) is, (F,): in proportion to its mean square."""
        codes = checked_symbols(symbols, SIZE)
        frames = codes[: len(codes) // CODES * CODES].reshape(-1, CODES)
        parts = (frames[begin : begin + _AT_ONCE] for begin in range(0, len(frames), _AT_ONCE))
        powers = [np.square(np.abs(self.targets(part))).sum((1, 2)) for part in parts]
        return np.concatenate([np.zeros(0), *powers])

    def rows(self, symbols: npt.ArrayLike) -> Rows:
        """Symbols (F P,) as rows (F, columns), near each other as the ear finds the frames."""
        return self._rows(checked_symbols(symbols, SIZE).reshape(-1, CODES))

    def _rows(self, codes: Integers) -> Rows:
        """Codes (F, P) as rows (F, columns), which are 0 for silence."""
        rows = decoded(codes, self._tables)
        rows[codes[:, 0] == SILENCE] = 0
        return rows

    def _levelled(self, samples: Frames) -> "Spectral":
        """The same with bands as loud as in samples, if there is room for its peaks.

        A mean of decibels is below the decibels of a mean, and magnitudes that no sound has lose
        when sound is made of them.
        """
        analyse = Transform(self.layout.size).at
        made = self.unlimited()(self.encode(samples), True)
        places = np.arange(0, len(samples), self.hop)
        wanted = self.layout.powers(analyse(samples, places)).sum(0)
        found = self.layout.powers(analyse(made, places)).sum(0)
        least = np.float32(10 ** (self.layout.top / 10 - 9))
        lift = 10 * np.log10((wanted + least) / (found + least))
        lift = np.clip(lift, -_MOST_LIFT, _MOST_LIFT).reshape(-1)
        peak = float(np.quantile(np.abs(made), 1 - _CLIPPED))
        peak *= float(np.sqrt((wanted.sum() + least) / (found.sum() + least)))
        gain = 1 / max(peak, 1)
        lift += 20 * np.log10(gain)
        return replace(self, layout=replace(self.layout, lift=tuple(lift.tolist())), gain=gain)


def limited(samples: Frames) -> Frames:
    """Samples (n, C) of which none reaches full scale: a limiter without memory.

    What a size x is above the knee k becomes (x - k) (1 - k) / (x - k + 1 - k): it grows ever more
    slowly, and loud peaks keep their tops. It is taken in float64, so that it is the same on every
    machine.
    """
    sizes = np.abs(samples)
    room, loud = 1 - _KNEE, sizes > _KNEE
    above = sizes[loud].astype(float) - _KNEE
    sizes[loud] = np.minimum(_KNEE + above * room / (above + room), _MOST_SIZE)
    return np.copysign(sizes, samples)


def excerpt(samples: Frames, sample_rate: int) -> Frames:
    """Some seconds of samples (n, C): short parts that lie evenly, and the one with the peak."""
    length = min(round(_PART * sample_rate), -(-len(samples) // _PARTS))
    last = len(samples) - length
    peak = int(np.abs(samples).max(1).argmax()) - length // 2
    begins = np.linspace(0, last, _PARTS).astype(int).tolist()
    begins.append(min(max(peak, 0), last))
    return np.concatenate([samples[begin : begin + length] for begin in begins])


def _parts(transform: Transform, samples: Frames, step: int) -> Iterator[Spectra]:
    """The frames at every `step`-th of samples, some at once."""
    places = np.arange(0, len(samples), step)
    for begin in range(0, len(places), _AT_ONCE):
        yield transform.at(samples, places[begin : begin + _AT_ONCE])
