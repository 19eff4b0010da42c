"""Quantisers: a wave as symbols, one per sample.

A wave is float32 (N,), mono, at `sample_rate`. It is multiplied by `gain`, clipped to [-1, 1] and
rounded to one of `levels` levels. Decoding divides by the gain, so that sound comes out as it went
in. A higher level stands for a higher value.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from seqkit.config import HIGHEST_RATE
from seqkit.data.sound import Frames, Wave
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import check_type
from seqkit.symbols import Floats, Symbols, checked_symbols, symbol_dtype

MOST_LEVELS = 1024
_GONE = {"symbols_per_sample": 1, "channels": 1, "emphasis": 0.0, "bands": 1}
"""What older specs may say, and with which value a wave is still read and written so."""


class Quantiser(ABC):
    """Base of `MuLaw`, `Linear` and quantisers of plug-ins; `name` stands in the spec."""

    kind: ClassVar[Literal["audio"]] = "audio"
    name: ClassVar[str]
    phases: ClassVar[int] = 1
    """P, the symbols of a sample."""
    channels: ClassVar[int] = 1
    """C."""

    def __init__(self, levels: int, sample_rate: int, gain: float = 1.0) -> None:
        """A quantiser, with the value of every level worked out.

        Args:
            levels: how many values a sample can have.
            sample_rate: in hertz.
            gain: applied before quantising.

        Raises:
            ConfigError: a value of another type.
            ValueError: a value out of range.
        """
        for name, value, least, most in (
            ("levels", levels, 2, MOST_LEVELS),
            ("sample_rate", sample_rate, 1, HIGHEST_RATE),
        ):
            check_type(name, value, int)
            if not least <= value <= most:
                raise ValueError(f"{name} is {least} to {most}, not {value}")
        check_type("gain", gain, float)
        if not (math.isfinite(gain) and gain > 0):
            raise ValueError(f"a gain is finite and above 0, not {gain}")
        self.levels = levels
        self.sample_rate = sample_rate
        self.gain = gain
        self.symbol_rate = float(sample_rate)
        """Symbols of a second of sound."""
        self.values = (self._decode() / np.float32(gain)).astype(np.float32)
        """What each level is decoded to, (levels,)."""
        self.start = int(self._encode(np.zeros(1, np.float32))[0])
        """The symbol of silence."""

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Rebuild one from `to_spec()`. Raises any exception for another spec."""
        gone = [name for name, usual in _GONE.items() if spec.get(name, usual) != usual]
        if gone:
            raise ValueError(f"{' and '.join(gone)} are not read any more: train anew")
        return cls(spec["levels"], spec["sample_rate"], spec["gain"])

    @property
    def size(self) -> int:
        """V, the number of symbols."""
        return self.levels

    def symbols_of(self, samples: float) -> int:
        """The symbols of so many samples, to the nearest."""
        return round(samples)

    def samples_of(self, symbols: int) -> int:
        """The samples in so many symbols."""
        return symbols

    def encode(self, samples: Wave | Frames) -> Symbols:
        """The symbols (N,) of a wave (N,), or (N, 1). What exceeds ±1 after the gain is clipped.

        Raises:
            ConfigError: no array of floating-point numbers, or of another shape.
            ValueError: a sample is NaN or infinite.
        """
        check_type("wave", samples, np.ndarray)
        if not np.issubdtype(samples.dtype, np.floating):
            raise ConfigError(f"wave: expected float32 within ±1, got {samples.dtype}")
        if samples.ndim != 1 and samples.shape[1:] != (1,):
            raise ConfigError(f"wave: expected (N,), got {samples.shape}")
        if not np.isfinite(samples).all():
            raise ValueError("a wave has only finite samples")
        scaled = samples.reshape(-1).astype(np.float32) * np.float32(self.gain)
        return self._encode(np.clip(scaled, -1, 1)).astype(symbol_dtype(self.size))

    def decode(self, symbols: npt.ArrayLike) -> Wave:
        """The wave float32 (N,) of symbols (N,).

        Raises:
            ConfigError: these are no symbols of this codec.
        """
        return np.asarray(self.values[checked_symbols(symbols, self.size)])

    def frames(self, symbols: npt.ArrayLike) -> Frames:
        """The samples float32 (N, 1) of symbols (N,). Raises as `decode`."""
        return self.decode(symbols)[:, None]

    def encoder(self) -> Callable[[Frames, bool], Symbols]:
        """A function that gives the symbols (n,) of samples (n, 1) that come in pieces."""
        return lambda samples, last: self.encode(samples)

    def reader(self) -> Callable[[npt.ArrayLike, bool], Frames]:
        """A function that gives the samples (n, 1) of symbols (n,) that come in pieces."""
        return lambda symbols, last: self.frames(symbols)

    def powers(self, symbols: npt.ArrayLike) -> Floats:
        """The square of each sample, (N,)."""
        return np.square(self.decode(symbols), dtype=np.float64)

    def to_spec(self) -> dict[str, Any]:
        """A JSON object from which `from_spec` rebuilds this quantiser."""
        return {
            "name": self.name,
            "levels": self.levels,
            "sample_rate": self.sample_rate,
            "gain": self.gain,
        }

    @abstractmethod
    def _encode(self, wave: Wave) -> npt.NDArray[np.int64]:
        """The levels (N,) of samples (N,) within [-1, 1]."""

    @abstractmethod
    def _decode(self) -> Wave:
        """The value of every level, before it is divided by the gain."""


class MuLaw(Quantiser):
    """Logarithmic levels, finest around silence (ITU-T G.711).

    sign(x) ln(1 + mu |x|) / ln(1 + mu), mu = levels - 1, rounded to equal steps.
    """

    name = "mu_law"

    def _encode(self, wave: Wave) -> npt.NDArray[np.int64]:
        mu = np.float32(self.levels - 1)
        curved = np.sign(wave) * np.log1p(mu * np.abs(wave)) / np.log1p(mu)
        return np.asarray(((curved + 1) / 2 * mu + np.float32(0.5)).astype(np.int64))

    def _decode(self) -> Wave:
        mu = np.float32(self.levels - 1)
        curved = np.arange(self.levels, dtype=np.float32) / mu * 2 - 1
        return np.asarray(np.sign(curved) * (np.exp(np.abs(curved) * np.log1p(mu)) - 1) / mu)


class Linear(Quantiser):
    """Levels of equal width 2 / levels, each decoded to its middle."""

    name = "linear"

    def _encode(self, wave: Wave) -> npt.NDArray[np.int64]:
        levels = np.floor((wave.astype(np.float64) + 1) / 2 * self.levels).astype(np.int64)
        return np.minimum(levels, self.levels - 1)

    def _decode(self) -> Wave:
        middles = (np.arange(self.levels) + 0.5) / self.levels * 2 - 1
        return middles.astype(np.float32)
