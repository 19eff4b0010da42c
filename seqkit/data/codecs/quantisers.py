"""Quantisers: a wave as symbols, one per sample or several.

A wave is float32 (N,), mono, or frames (N, C), at `sample_rate`. It gets its `emphasis` (see
`emphasis`), is multiplied by `gain`, clipped to [-1, 1] and rounded to one of `levels` levels.
Decoding divides by the gain and undoes the emphasis, so that sound comes out as it went in. A
higher level stands for a higher value.

A level is a symbol. Sound may be split into K bands (`filter_bank`), of which two channels may be
turned (`channels`): K samples of each of C channels are then K C values, a frame, the lowest band's
first. Each has a gain of its own, and one whose gain is 0 is left out. So P symbols make a frame.
Nothing marks the place of a symbol in its frame: every document begins with a whole one.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from seqkit.config import A_CODE, BANDS, HIGHEST_RATE
from seqkit.data.codecs.base import checked_symbols
from seqkit.data.codecs.channels import analysis, turned, turns
from seqkit.data.codecs.emphasis import emphasised, undone
from seqkit.data.codecs.filter_bank import delay_of, joiner
from seqkit.data.sound import Frames, Wave
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import check_type
from seqkit.symbols import Floats, Integers, Symbols, symbol_dtype

MOST_LEVELS = 1024
_FAINT = 1e-5  # of a sample, which is heard no more
FURTHER: dict[str, Any] = {
    **{"channels": 1, "emphasis": 0.0},
    **{"bands": 1, "band_gains": (), "band_emphases": (), "band_angles": ()},
}
"""What a spec may leave out, and what it is then."""


class Quantiser(ABC):
    """Base of `MuLaw`, `Linear` and quantisers of plug-ins; `name` stands in the spec."""

    kind: ClassVar[Literal["audio"]] = "audio"
    name: ClassVar[str]

    def __init__(
        self,
        levels: int,
        sample_rate: int,
        gain: float = 1.0,
        channels: int = 1,
        emphasis: float = 0.0,
        bands: int = 1,
        band_gains: Sequence[float] = (),
        band_emphases: Sequence[float] = (),
        band_angles: Sequence[float] = (),
    ) -> None:
        """A quantiser, with the value of every level worked out.

        Args:
            levels: how many values a sample can have.
            sample_rate: in hertz.
            gain: applied before quantising.
            channels: C, 1 or 2.
            emphasis: a, from 0 to below 1; of sound that is not split.
            bands: K, 1, 2, 4 or 8.
            band_gains: of each value of a frame, (K C,), 0 to leave it out; 1 by default.
            band_emphases: a of each of them, (K C,); 0 by default.
            band_angles: by which the channels of each band are turned, (K,); 0 by default.

        Raises:
            ConfigError: a value of another type, or a sample rate that does not fit the bands.
            ValueError: a value out of range.
        """
        for name, value, least, most in (
            ("levels", levels, 2, MOST_LEVELS),
            ("sample_rate", sample_rate, 1, HIGHEST_RATE),
            ("channels", channels, 1, 2),
            ("bands", bands, 1, BANDS[-1]),
        ):
            check_type(name, value, int)
            if not least <= value <= most:
                raise ValueError(f"{name} is {least} to {most}, not {value}")
        if bands not in BANDS:
            raise ValueError(f"bands is one of {BANDS}, not {bands}")
        _check_gains(gain, emphasis)
        _check_bands(bands, bands * channels, band_gains, band_emphases, band_angles)
        _check_rate(sample_rate, bands)
        self.levels = levels
        self.sample_rate = sample_rate
        self.gain = gain
        self.channels = channels
        self.emphasis = emphasis
        self.bands = bands
        self.band_gains = tuple(band_gains) or (1.0,) * (bands * channels)
        self.band_emphases = tuple(band_emphases) or (emphasis,) * (bands * channels)
        self.band_angles = tuple(band_angles) if any(band_angles) else ()
        self.delay = delay_of(bands)
        """Samples by which sound that is encoded and decoded comes later."""
        largest = max(self.band_emphases)
        faded = round(math.log(_FAINT) / math.log(largest)) if largest else 0
        self.memory = self.delay + faded * bands
        """Samples after which it no longer matters what was before them, when it is decoded."""
        self.columns = bands * channels
        """The values of a frame: of all channels in the lowest band, then in the next."""
        self.used = np.flatnonzero(self.band_gains)
        """Those that are not left out, by number."""
        self.phases = len(self.used)
        """P, the symbols of a frame, which lasts K samples."""
        self.symbol_rate = self.phases * (sample_rate // bands)
        """Symbols of a second of sound."""
        self._shares = np.array(self.band_emphases) if bands > 1 else emphasis
        self._factors = np.array(self.band_gains, np.float32)[self.used]
        self.turns = turns(self.band_angles)
        """Of left and right of each band its two values, (K, 2, 2); None if they are the same."""
        self.values = (self._decode() / np.float32(gain)).astype(np.float32)
        """What each level is decoded to, with its emphasis, and its band's gain, (levels,)."""
        silence = self.quantised(np.zeros((1, self.columns), np.float32))
        self.silent_frame = silence
        """The symbols of a frame of silence."""
        self.start = int(silence[-1])
        """The last symbol of a frame of silence."""
        self.silence = float(self.values[self.levels_of(silence)].mean()) / (1 - emphasis)
        """The sample that silence is decoded to, in the end."""
        if bands > 1:
            self.silence = float(self.frames(np.tile(silence, bands + self.memory))[-bands:].mean())

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Rebuild one from `to_spec()`. Raises any exception for another spec."""
        if spec.get("symbols_per_sample", 1) != 1:
            raise ValueError("samples of two symbols each are not read any more: train anew")
        # A plug-in's class may know of the first three only.
        further = {
            key: spec[key] for key, usual in FURTHER.items() if spec.get(key, usual) != usual
        }
        return cls(spec["levels"], spec["sample_rate"], spec["gain"], **further)

    @property
    def size(self) -> int:
        """V, the number of symbols."""
        return self.levels

    def symbols_of(self, samples: float) -> int:
        """The symbols of so many samples of all channels, to the nearest frame."""
        return round(samples / self.bands) * self.phases

    def samples_of(self, symbols: int) -> int:
        """The samples of each channel in so many symbols, of whole frames."""
        return symbols // self.phases * self.bands

    def encode(self, wave: Wave | Frames) -> Symbols:
        """The symbols (N P / K,) of a wave (N,), the same in all channels, or of frames (N, C).

        Zeros fill up its last frame. What exceeds ±1 after the gain is clipped. Raises as
        `analysed`.
        """
        return self.quantised(self.analysed(wave))

    def analysed(self, wave: Wave | Frames) -> Frames:
        """The values (N / K, columns) to quantise of a wave as `encode` takes it, after silence.

        Raises:
            ConfigError: no array of floating-point numbers, or of another shape.
            ValueError: a sample is NaN or infinite.
        """
        check_type("wave", wave, np.ndarray)
        if not np.issubdtype(wave.dtype, np.floating):
            raise ConfigError(f"wave: expected float32 within ±1, got {wave.dtype}")
        if wave.ndim == 1:
            wave = np.repeat(wave[:, None], self.channels, axis=1)
        elif wave.ndim != 2 or wave.shape[1] != self.channels:
            raise ConfigError(f"wave: expected (N,) or (N, {self.channels}), got {wave.shape}")
        if not np.isfinite(wave).all():
            raise ValueError("a wave has only finite samples")
        return self.analyser()(np.concatenate([*self.padded([wave])]))

    def padded(self, blocks: Iterable[Frames]) -> Iterator[Frames]:
        """Hand on the samples (n, C) of a recording, and zeros that fill up its last frame."""
        count = 0
        for block in blocks:
            count += len(block)
            yield block
        if missing := -count % self.bands:
            yield np.zeros((missing, self.channels), np.float32)

    def analyser(self) -> Callable[[Frames], Frames]:
        """A function that gives the values (n / K, columns) to quantise of samples (n, C).

        These come in pieces; what does not fill a frame is kept for the next one.
        """
        split = analysis(self.bands, self.channels, self.turns)
        before, emphasise = np.zeros((1, self.columns), np.float32), any(self.band_emphases)

        def analyse(frames: Frames) -> Frames:
            nonlocal before
            rows = split(frames)
            if not emphasise:
                return rows
            values = emphasised(rows, self._shares, before)
            before = np.concatenate([before, rows])[-1:]
            return values

        return analyse

    def encoder(self) -> Callable[[Frames], Symbols]:
        """A function that gives the symbols (n P / K,) of samples (n, C); see `analyser`."""
        analyse = self.analyser()
        return lambda frames: self.encoded(frames, analyse(frames))

    def encoded(self, frames: Frames, values: Frames) -> Symbols:
        """The symbols (n P / K,) of samples, of which an `analyser` gave the values."""
        if self.bands == 1 and not self.emphasis:
            return self.encode(frames)  # a plug-in's class may have its own
        return self.quantised(values)

    def scaled(self, values: Frames) -> Frames:
        """Values (n, columns) that are not left out after the gains, (n, P).

        What exceeds ±1 is clipped.
        """
        return values.reshape(-1, self.columns)[:, self.used] * (
            self._factors * np.float32(self.gain)
        )

    def quantised(self, values: Frames) -> Symbols:
        """The symbols (n P,) of values (n, columns) as `analysed` gives them."""
        clipped = np.clip(self.scaled(values).reshape(-1), -1, 1)
        return self._encode(clipped).astype(symbol_dtype(self.size))

    def values_of(self, symbols: npt.ArrayLike) -> Frames:
        """The values (n, columns) that symbols (n P,) stand for; the inverse of `quantised`.

        Raises:
            ConfigError: these are no symbols of this codec.
        """
        levels = self.levels_of(symbols)
        values = np.zeros((len(levels), self.columns), np.float32)
        values[:, self.used] = self.values[levels] / self._factors
        return values

    def decode(self, symbols: npt.ArrayLike) -> Wave:
        """The wave float32 (N K,) of symbols (N P,), of several channels their mean.

        Raises:
            ConfigError: these are no symbols of this codec.
        """
        wave: Wave = self.frames(symbols).mean(1)
        return wave

    def frames(self, symbols: npt.ArrayLike) -> Frames:
        """The samples float32 (N K, C) of symbols (N P,), before which there is silence.

        Raises:
            ConfigError: these are no symbols of this codec.
        """
        return self.reader()(symbols)

    def levels_of(self, symbols: npt.ArrayLike) -> Integers:
        """The levels (N, P) of symbols (N P,); a frame cut at the end is left out.

        Raises:
            ConfigError: these are no symbols of this codec.
        """
        known = checked_symbols(symbols, self.size)
        levels = known[: len(known) // self.phases * self.phases]
        return levels.reshape(-1, len(self.used))

    def along(self, symbols: npt.ArrayLike) -> Wave:
        """What `decode` gives, as often as there are symbols: (N P,)."""
        frames = self.decode(symbols).reshape(-1, self.bands)
        return frames[:, np.arange(self.phases) * self.bands // self.phases].reshape(-1)

    def reader(self) -> Callable[[npt.ArrayLike], Frames]:
        """A function that gives the samples (n K, C) of symbols that come in pieces (N,).

        What a piece holds of a frame that is not at its end is kept for the next one. Raises
        ConfigError for what are no symbols of this codec.
        """
        kept, before = np.zeros(0, np.int64), np.zeros((1, self.columns))
        join = joiner(self.bands, self.channels) if self.bands > 1 else None
        emphasise = any(self.band_emphases)

        def read(symbols: npt.ArrayLike) -> Frames:
            nonlocal kept, before
            known = np.concatenate([kept, checked_symbols(symbols, self.size)])
            kept = known[len(known) // self.phases * self.phases :]
            values: Floats = self.values_of(known)
            if emphasise:
                values = undone(values, self._shares, before)
                before = np.concatenate([before, values])[-1:]
            if join is not None:
                back = None if self.turns is None else self.turns.transpose(0, 2, 1)
                return join(turned(values.reshape(-1, self.bands, self.channels), back))
            return values.astype(np.float32, copy=False)

        return read

    def to_spec(self) -> dict[str, Any]:
        """A JSON object from which `from_spec` rebuilds this quantiser."""
        spec = {
            "name": self.name,
            "levels": self.levels,
            "sample_rate": self.sample_rate,
            "gain": self.gain,
        }
        if self.phases > 1:
            spec["channels"] = self.channels
        if self.emphasis:
            spec["emphasis"] = self.emphasis
        if self.bands > 1:
            spec |= {"bands": self.bands, "band_gains": [*self.band_gains]}
            spec |= {"band_emphases": [*self.band_emphases]} if any(self.band_emphases) else {}
            spec |= {"band_angles": [*self.band_angles]} if self.band_angles else {}
        return spec

    def rounding(self, size: float, power: float) -> float:
        """The mean square of the error of values within ±1, given their mean size and mean square.

        By default as of equal steps 2 / levels.
        """
        return (2 / self.levels) ** 2 / 12

    @abstractmethod
    def _encode(self, wave: Wave) -> npt.NDArray[np.int64]:
        """The levels (N,) of samples (N,) within [-1, 1]."""

    @abstractmethod
    def _decode(self) -> Wave:
        """The value of every level, before it is divided by the gain."""


def _check_gains(gain: float, emphasis: float) -> None:
    check_type("gain", gain, float)
    if not (math.isfinite(gain) and gain > 0):
        raise ValueError(f"a gain is finite and above 0, not {gain}")
    check_type("emphasis", emphasis, float)
    if not 0 <= emphasis < 1:
        raise ValueError(f"an emphasis is 0 or more and below 1, not {emphasis}")


def _check_rate(sample_rate: int, bands: int) -> None:
    if bands > 1 and sample_rate % (step := A_CODE * bands):
        lower = sample_rate // step * step
        near = f"{lower} or {lower + step}" if lower else str(step)
        raise ConfigError(
            f"a sample rate of {sample_rate} Hz: {bands} bands need a multiple of {step}: give "
            f"data.sample_rate={near}, or data.bands=1"
        )


def _check_bands(
    bands: int,
    columns: int,
    gains: Sequence[float],
    emphases: Sequence[float],
    angles: Sequence[float],
) -> None:
    for factor, share in itertools.zip_longest(gains, emphases, fillvalue=0.0):
        _check_gains(factor or 1.0, share)
    wanted = (columns, columns, bands if columns > bands else 0)
    for name, values, size in zip(
        ("gains", "emphases", "angles"), (gains, emphases, angles), wanted, strict=True
    ):
        if len(values) and (bands == 1 or len(values) != size):
            raise ValueError(f"{len(values)} {name} of {bands} bands with {columns} values")
    if len(gains) and not any(gains):
        raise ValueError("all bands are left out")


class MuLaw(Quantiser):
    """Logarithmic levels, finest around silence (ITU-T G.711).

    sign(x) ln(1 + mu |x|) / ln(1 + mu), mu = levels - 1, rounded to equal steps.
    """

    name = "mu_law"

    def rounding(self, size: float, power: float) -> float:
        """See Quantiser: a step at x is (1 + mu |x|) ln(1 + mu) / mu as wide as an equal one."""
        mu = self.levels - 1
        widths = 1 + 2 * mu * size + mu**2 * power
        return widths * (2 * math.log1p(mu) / mu**2) ** 2 / 12

    def _encode(self, wave: Wave) -> npt.NDArray[np.int64]:
        mu = np.float32(self.levels - 1)
        curved = np.sign(wave) * np.log1p(mu * np.abs(wave)) / np.log1p(mu)
        levels: Integers = ((curved + 1) / 2 * mu + np.float32(0.5)).astype(np.int64)
        return levels

    def _decode(self) -> Wave:
        mu = np.float32(self.levels - 1)
        curved = np.arange(self.levels, dtype=np.float32) / mu * 2 - 1
        wave: Wave = np.sign(curved) * (np.exp(np.abs(curved) * np.log1p(mu)) - 1) / mu
        return wave


class Linear(Quantiser):
    """Levels of equal width 2 / levels, each decoded to its middle."""

    name = "linear"

    def _encode(self, wave: Wave) -> npt.NDArray[np.int64]:
        levels = np.floor((wave.astype(np.float64) + 1) / 2 * self.levels).astype(np.int64)
        return np.minimum(levels, self.levels - 1)

    def _decode(self) -> Wave:
        middles = (np.arange(self.levels) + 0.5) / self.levels * 2 - 1
        return middles.astype(np.float32)
