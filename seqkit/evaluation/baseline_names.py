"""The baselines by the names under which they are recorded, and as people know them."""

from typing import NamedTuple

CONSTANT_BITS = 0.05
"""Bits by frequency below which data are nearly constant, and a loss on them tells nothing."""


_NOUNS = {"text": "character", "bytes": "byte", "audio": "sample"}


def noun(kind: str, symbols_per_sample: int = 1) -> str:
    """What a symbol of text, bytes or audio is; of two that make up a sample it is a symbol."""
    return _NOUNS.get(kind, "symbol") if symbols_per_sample == 1 else "symbol"


class BaselineName(NamedTuple):
    """A baseline's name in a sentence, and a short one for charts and lists."""

    whole: str
    brief: str


def names(symbol: str = "symbol") -> dict[str, BaselineName]:
    """The names of all baselines by their keys in about.json and JSON results.

    `symbol` is what a symbol is: a character, a byte or a sample.
    """
    return {
        "uniform_bits": BaselineName("blind guessing", "blind guess"),
        "histogram_bits": BaselineName("guessing by frequency", "by frequency"),
        "context_bits": BaselineName(f"a table of what follows any two {symbol}s", "last two"),
        "ngram_bits": BaselineName("an n-gram model", "n-gram"),
        "flac_bits": BaselineName("FLAC", "FLAC"),
        "xz_bits": BaselineName("xz", "xz"),
    }
