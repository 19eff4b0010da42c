"""What every codec of text or bytes does.

Your own is a subclass of `TextCodec`, or for sound of `Quantiser` (docs/reference/plugins.md).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from seqkit.foundation.errors import ConfigError
from seqkit.symbols import Integers, Symbols


def checked_symbols(symbols: npt.ArrayLike, size: int) -> Integers:
    """Symbols (N,) as they index a table of `size`. Raises ConfigError for anything else."""
    array = np.asarray(symbols)
    if not array.size:
        return np.zeros(0, np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise ConfigError(f"symbols: expected integers (N,), got {array.dtype}")
    if array.min() < 0 or array.max() >= size:
        outside = array.min() if array.min() < 0 else array.max()
        raise ConfigError(f"symbols: {outside} is not one of the {size} that this codec knows")
    return array.astype(np.int64)


class TextCodec(ABC):
    """Text as symbols 0 … V-1 and back.

    Text comes in pieces, cut anywhere: `decode` of the symbols of the pieces, one after the
    other, must give the text again. A codec of `kind` "bytes" gets and gives bytes instead.
    """

    kind: ClassVar[Literal["text", "bytes"]] = "text"
    name: ClassVar[str]
    """Stands in the spec, and is what `data.codec` calls it."""

    @classmethod
    @abstractmethod
    def fit(cls, pieces: Iterable[Any], most: int = 0) -> Self:
        """The codec for a text that comes in pieces.

        `most` is data.max_vocabulary, the largest V that is wanted; 0: no limit.

        Raises:
            ValueError: no codec fits the text.
        """

    @classmethod
    @abstractmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Rebuild one from `to_spec()`. Raises ValueError."""

    @abstractmethod
    def to_spec(self) -> dict[str, Any]:
        """A JSON object with the codec's `name` from which `from_spec` rebuilds it."""

    @property
    @abstractmethod
    def size(self) -> int:
        """V, the number of different symbols."""

    @property
    @abstractmethod
    def start(self) -> int:
        """The symbol that stands before the first one of every document."""

    @abstractmethod
    def encode(self, piece: Any, unknown: str = "error") -> Symbols:
        """The symbols (N,) of a piece, in `symbol_dtype(size)`.

        `unknown` says what becomes of a character without a symbol: "skip" leaves it out,
        "nearest" takes the closest one.

        Raises:
            UnknownSymbolError: with "error", for the first such character.
        """

    @abstractmethod
    def decode(self, symbols: npt.ArrayLike) -> str | bytes:
        """The text of symbols (N,)."""
