"""Quantisers: a wave as symbols, one per sample.

A wave is float32 (N,), mono, at `sample_rate`. It is multiplied by `gain`, clipped to [-1, 1] and
rounded to one of `levels` levels. Decoding divides by the gain, so that sound comes out as loud as
it went in. Higher symbols stand for higher values, and `start` is the level of silence.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from seqkit.checking import check_type
from seqkit.data.codecs.base import checked_symbols
from seqkit.data.sound import Wave, mu_law
from seqkit.errors import ConfigError
from seqkit.symbols import Symbols, symbol_dtype

MOST_LEVELS = 2**16


class Quantiser(ABC):
    """Base of `MuLaw`, `Linear` and quantisers of plug-ins; `name` stands in the spec."""

    kind: ClassVar[Literal["audio"]] = "audio"
    name: ClassVar[str]

    def __init__(self, levels: int, sample_rate: int, gain: float = 1.0) -> None:
        """`levels` is V, `sample_rate` in hertz; `gain` is applied before quantising.

        Raises:
            ConfigError: a value of another type.
            ValueError: a value out of range.
        """
        check_type("levels", levels, int)
        check_type("sample_rate", sample_rate, int)
        check_type("gain", gain, float)
        if not 2 <= levels <= MOST_LEVELS:
            raise ValueError(f"a quantiser has 2 to {MOST_LEVELS} levels, not {levels}")
        if sample_rate < 1:
            raise ValueError(f"a sample rate is above 0, not {sample_rate}")
        if not (math.isfinite(gain) and gain > 0):
            raise ValueError(f"a gain is finite and above 0, not {gain}")
        self.levels = levels
        self.sample_rate = sample_rate
        self.gain = gain
        self._values = (self._decode() / np.float32(gain)).astype(np.float32)
        self.start = int(self.encode(np.zeros(1, np.float32))[0])
        """The level of silence."""

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Rebuild one from `to_spec()`. Raises ValueError."""
        levels, rate, gain = spec.get("levels"), spec.get("sample_rate"), spec.get("gain")
        if not (isinstance(levels, int) and isinstance(rate, int) and isinstance(gain, float)):
            raise ValueError("a spec of a quantiser has levels, a sample_rate and a gain")
        return cls(levels, rate, gain)

    @property
    def size(self) -> int:
        """V, the number of levels."""
        return self.levels

    def encode(self, wave: Wave) -> Symbols:
        """The symbols (N,) of a wave (N,); what exceeds ±1 after the gain is clipped.

        Raises:
            ConfigError: no array of floating-point numbers.
            ValueError: a sample is NaN or infinite.
        """
        check_type("wave", wave, np.ndarray)
        if not np.issubdtype(wave.dtype, np.floating):
            raise ConfigError(f"wave: expected float32 within ±1, got {wave.dtype}")
        if not np.isfinite(wave).all():
            raise ValueError("a wave has only finite samples")
        clipped = np.clip(wave * np.float32(self.gain), -1, 1)
        return self._encode(clipped).astype(symbol_dtype(self.levels))

    def decode(self, symbols: npt.ArrayLike) -> Wave:
        """The wave float32 (N,) of the symbols (N,). Raises ConfigError for others."""
        return self._values[checked_symbols(symbols, self.levels)]

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
        """The levels (N,) of a wave (N,) within [-1, 1]."""

    @abstractmethod
    def _decode(self) -> Wave:
        """The value of every level (V,), before it is divided by the gain."""


class MuLaw(Quantiser):
    """Logarithmic levels, finest around silence (ITU-T G.711), with mu = levels - 1."""

    name = "mu_law"

    def _encode(self, wave: Wave) -> npt.NDArray[np.int64]:
        return mu_law.encode(wave, self.levels)

    def _decode(self) -> Wave:
        return mu_law.decode(np.arange(self.levels), self.levels)


class Linear(Quantiser):
    """Levels of equal width 2 / levels, each decoded to its middle."""

    name = "linear"

    def _encode(self, wave: Wave) -> npt.NDArray[np.int64]:
        levels = np.floor((wave.astype(np.float64) + 1) / 2 * self.levels).astype(np.int64)
        return np.minimum(levels, self.levels - 1)

    def _decode(self) -> Wave:
        middles = (np.arange(self.levels) + 0.5) / self.levels * 2 - 1
        return middles.astype(np.float32)
