"""Text as symbols: what every codec of it does, and characters and bytes.

Your own is a subclass of `TextCodec`, or for sound of `Quantiser` (docs/reference/plugins.md).
"""

import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from seqkit.foundation.errors import DataError
from seqkit.foundation.settings import check_type
from seqkit.symbols import Integers, Symbols, checked_symbols, symbol_dtype

_CODE_POINTS = 0x110000
_PLAIN = str.maketrans("‘’‚‛′“”„‟″«»‐‑‒–—―−", 5 * "'" + 7 * '"' + 7 * "-")
"""What to type in place of typographic quotes and dashes."""


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
        "nearest" takes what stands for it, or leaves it out.

        Raises:
            UnknownSymbolError: with "error", for the first such character.
        """

    @abstractmethod
    def decode(self, symbols: npt.ArrayLike) -> str | bytes:
        """The text of symbols (N,)."""


class UnknownSymbolError(DataError):
    """A character outside the vocabulary, with the place where it stands."""

    def __init__(self, character: str, offset: int) -> None:
        self.character, self.offset = character, offset
        name = unicodedata.name(character, "unnamed")
        super().__init__(
            f"character {character!r} (U+{ord(character):04X}, {name}) at offset {offset} "
            "is not in the vocabulary"
        )


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """The Unicode code points (N,) of a text, surrogates included."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def counts_of(pieces: Iterable[str]) -> npt.NDArray[np.int64]:
    """How often each code point occurs in a text that comes in pieces."""
    counts = np.zeros(_CODE_POINTS, dtype=np.int64)
    for piece in pieces:
        piece_counts = np.bincount(code_points(piece))
        counts[: piece_counts.size] += piece_counts
    return counts


class Characters(TextCodec):
    """One symbol for each distinct character, in the order of their code points.

    Carriage returns, byte order marks, NUL and characters outside the basic plane are characters
    like any other. Nothing is normalised, but to find the nearest.
    """

    name = "characters"

    def __init__(self, vocabulary: str, start: int) -> None:
        """`vocabulary` holds each character once, in rising order; `start` is an index into it.

        Raises:
            ConfigError: a value of another type.
            ValueError: a value that makes no codec.
        """
        check_type("vocabulary", vocabulary, str)
        check_type("start", start, int)
        points = code_points(vocabulary)
        if not points.size or (points[1:] <= points[:-1]).any():
            raise ValueError("a vocabulary is not empty, and its characters rise")
        if not 0 <= start < points.size:
            raise ValueError(f"start {start} is outside the vocabulary of {points.size}")
        self.vocabulary = vocabulary
        self._points = points
        self._start = start
        # Of every code point the symbol, or V where there is none, as narrow as that may be.
        self._table = np.full(_CODE_POINTS, points.size, dtype=symbol_dtype(points.size + 1))
        self._table[points] = np.arange(points.size)

    @classmethod
    def fit(cls, pieces: Iterable[str], most: int = 0) -> "Characters":
        """The codec of all characters of a text; with `most`, of the most frequent ones.

        A document starts after a newline if there is one, else after the most frequent character.
        """
        counts = counts_of(pieces)
        if not counts.any():
            raise ValueError("the text is empty")
        present = _most_frequent(counts, most or counts.size)
        vocabulary = _text_of(present)
        newline = vocabulary.find("\n")
        return cls(vocabulary, newline if newline >= 0 else int(np.argmax(counts[present])))

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> "Characters":
        """Rebuild one from `to_spec()`. Raises any exception for another spec."""
        return cls("".join(map(chr, spec["vocabulary"])), spec["start"])

    @property
    def size(self) -> int:
        """V, the number of characters."""
        return int(self._points.size)

    @property
    def start(self) -> int:
        """The symbol that stands before the first one of a document."""
        return self._start

    def unknown_in(self, text: str) -> Counter[str]:
        """The characters of a text that are not in the vocabulary, and how often each occurs."""
        points = code_points(text)
        unknown, counts = np.unique(points[self._table[points] == self.size], return_counts=True)
        return Counter(dict(zip(map(chr, unknown), counts.tolist(), strict=True)))

    def encode(self, piece: str | bytes, unknown: str = "error") -> Symbols:
        """The symbols (N,) of a text.

        Raises:
            ConfigError: `piece` is no str.
            UnknownSymbolError: with unknown=error, for the first character that is not known.
        """
        check_type("piece", piece, str)
        assert isinstance(piece, str)
        piece = self._spelt(piece) if unknown == "nearest" else piece
        points = code_points(piece)
        indices = self._table[points]
        if indices.max(initial=0) == self.size:
            missing = indices == self.size
            if unknown == "error":
                offset = int(np.argmax(missing))
                raise UnknownSymbolError(piece[offset], offset)
            indices = indices[~missing]
        return indices.astype(symbol_dtype(self.size), copy=False)

    def decode(self, symbols: npt.ArrayLike) -> str:
        """The text of the symbols (N,). Raises ConfigError for others."""
        points = self._points[checked_symbols(symbols, self.size)]
        return points.tobytes().decode("utf-32-le", "surrogatepass")

    def to_spec(self) -> dict[str, Any]:
        """A JSON object from which `from_spec` rebuilds this codec."""
        return {
            "name": self.name,
            "vocabulary": [int(point) for point in self._points],
            "start": self._start,
        }

    def grown(self, pieces: Iterable[str], most: int = 0) -> Self:
        """The codec with the new characters of a text, of which `most` keeps the most frequent.

        A document starts after the same character as before.
        """
        counts = counts_of(pieces)
        counts[self._points] = 0
        new = _most_frequent(counts, max(most - self.size, 0) if most else counts.size)
        if not new.size:
            return self
        points = np.union1d(self._points, new)
        start = int(np.searchsorted(points, self._points[self._start]))
        return type(self)(_text_of(points), start)

    def _spelt(self, text: str) -> str:
        """The text with unknown letters composed, or else replaced by what is near."""
        if unknown := self.unknown_in(text):
            text = text.replace("\r\n", "\n") if "\r" in unknown else text
            text = unicodedata.normalize("NFC", text)
        return text.translate({ord(each): self.near(each) for each in self.unknown_in(text)})

    def near(self, letter: str) -> str:
        """What known characters stand for an unknown one, such as its letter; empty if none do."""
        plain = unicodedata.normalize("NFKD", letter.translate(_PLAIN))
        base = "".join(part for part in plain if not unicodedata.combining(part))
        ways = [unicodedata.normalize("NFD", letter), plain, base, base.replace('"', "'")]
        ways += [each for way in (plain, base) for each in (way.casefold(), way.upper())]
        ways += ["\n" if letter in "\r\u2028\u2029" else " ", "\n", " "] if letter.isspace() else []
        return next((way for way in ways if not self.unknown_in(way)), "")


def _most_frequent(counts: npt.NDArray[np.int64], most: int) -> Integers:
    """The code points that occur, at most so many, in rising order."""
    present = np.flatnonzero(counts)
    if present.size > most:
        order = np.argsort(-counts[present], kind="stable")
        present = np.sort(present[order[:most]])
    return present


def _text_of(points: Integers) -> str:
    return points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


class Bytes(TextCodec):
    """One symbol for each of the 256 byte values; any file at all can be read this way."""

    kind: ClassVar[Literal["text", "bytes"]] = "bytes"
    name = "bytes"
    size = 256
    start = ord("\n")

    @classmethod
    def fit(cls, pieces: Iterable[bytes], most: int = 0) -> "Bytes":
        """The same codec for whatever the bytes are; they are not read."""
        return cls()

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> "Bytes":
        """Rebuild it from `to_spec()`."""
        return cls()

    def encode(self, piece: str | bytes, unknown: str = "error") -> Symbols:
        """The symbols (N,) of bytes, or of a text in UTF-8; no byte is unknown.

        Raises:
            ConfigError: `piece` is neither.
        """
        check_type("piece", piece, str | bytes)
        if isinstance(piece, str):
            piece = piece.encode("utf-8", "surrogateescape")
        return np.frombuffer(piece, dtype=np.uint8)

    def decode(self, symbols: npt.ArrayLike) -> bytes:
        """The bytes of the symbols (N,). Raises ConfigError for others."""
        return checked_symbols(symbols, self.size).astype(np.uint8).tobytes()

    def to_spec(self) -> dict[str, Any]:
        """A JSON object from which `from_spec` rebuilds this codec."""
        return {"name": self.name}
