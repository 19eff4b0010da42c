"""Which labels a sample has: those that are asked for, or drawn as often as the data has them."""

import itertools
import math
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from seqkit.data.labels import Combination, Labels, distinct
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.randomness import SEEDS, uniforms
from seqkit.foundation.settings import nearest
from seqkit.generation.request import Request
from seqkit.symbols import Floats, Integers

_STREAM = (1 << 33) + 1  # of draws; no sample has it
_ROUNDING = 1e-3
_MOST = 100_000  # rows of a table
_SHOWN = 8  # labels that are named

Shares = dict[str, dict[str, float]]
"""Of labels, by their names, the share of each value."""


class Choice(NamedTuple):
    """The labels of S streams.

    weights: n choices (n, R), as `NetworkArrays.with_choices` takes them, of which the first one is
        no label; None of a model that learnt none.
    streams: which of them each stream has, (S,).
    words: what the labels of each stream are called.
    """

    weights: Floats | None
    streams: Integers
    words: list[str]

    def of_streams(self, strength: float) -> Integers:
        """The choice of each stream; with another strength than 1 of 2 S, the second half none."""
        return self.streams if strength == 1 else np.append(self.streams, 0 * self.streams)


def choice_of(labels: Labels | None, request: Request, notice: Callable[[str], None]) -> Choice:
    """The labels of all streams, which `notice` is told if some are drawn. Raises ConfigError."""
    if labels is None:
        if request.label is not None or request.label_strength != 1:
            raise ConfigError(
                "label: this model learnt no labels: train one with data.label, as in "
                "data.path=FOLDER data.label=folder"
            )
        return Choice(None, np.zeros(request.streams, np.int64), [])
    choice = choose(labels, request.label, request.streams, request.sampling.seed)
    first, *others = choice.words
    if {first} != {*choice.words}:
        shown = [f"stream {n}: {words}" for n, words in enumerate(choice.words[:_SHOWN], 1)]
        notice("; ".join(shown) + (" …" if len(others) >= _SHOWN else ""))
    elif first != request.label:
        notice(f"label={first}")
    return choice


def choose(labels: Labels, asked: str | None, streams: int, seed: int) -> Choice:
    """What is asked for: `austen`, `digit:7,speaker:jackson`, or a mixture such as `a:0.7,b:0.3`.

    A label that is not asked for is drawn for each stream, as often as the data has it together
    with those that are; a seed further by `SEEDS` draws the same. `none` is no label, and
    `digit:none` none of these.

    Raises:
        ConfigError: there is no such label or value, or the shares do not add up to 1.
    """
    wanted = {} if asked == "none" else _parsed(labels, asked or "")
    drawn = [(0,) * len(labels.values)] * streams
    if asked != "none":
        drawn = _drawn(labels, wanted, streams, seed % SEEDS)
    combinations, places = distinct(np.array(drawn))
    shares = [labels.shares(each) | wanted for each in map(tuple, combinations.tolist())]
    weights = np.stack([_row(labels, each) for each in ({}, *shares)])
    words = [labels.words(shares[place]) for place in places]
    return Choice(weights, places + 1, words)


def every(labels: Labels) -> Floats:
    """The choices of all combinations, (n, R), none first; the first label changes from row to row.

    Raises:
        ConfigError: they are too many for a table.
    """
    count = math.prod(size + 1 for size in labels.sizes)
    if count > _MOST:
        raise ConfigError(f"{count:,} combinations of labels are too many to export")
    numbers = (range(size + 1) for size in reversed(labels.sizes))
    combinations = (each[::-1] for each in itertools.product(*numbers))
    return np.stack([_row(labels, labels.shares(each)) for each in combinations])


def _parsed(labels: Labels, asked: str) -> Shares:
    """The labels that are asked for. Raises ConfigError."""
    meanings = _meanings(labels)
    known = "|".join(map(re.escape, sorted(meanings, key=len, reverse=True)))  # the longest counts
    piece = re.compile(rf"\s*({known})\s*(?::([^,:]+))?(?:,|$)")
    parsed, rest = Shares(), asked
    while rest:
        if (found := piece.match(rest)) is None:
            first = rest.partition(",")[0].strip()
            name, _, value = first.partition(":")
            value = value if name in labels.values else first
            hint = nearest(value, [*itertools.chain(*labels.values.values())])
            raise ConfigError(f"label={asked}: no label {value}{hint} It knows {labels.summary}")
        (name, value), *others = meanings[found[1]]
        if others:
            choices = " or ".join(f"{each}:{value}" for each, _ in meanings[found[1]])
            raise ConfigError(f"label={asked}: several labels have that value: give {choices}")
        try:
            share = float(found[2] or 1)
        except ValueError:
            share = math.nan
        parsed.setdefault(name, {})[value] = share
        rest = rest[found.end() :]
    for name, shares in parsed.items():
        if not min(shares.values()) >= 0 or not abs(sum(shares.values()) - 1) <= _ROUNDING:
            raise ConfigError(
                f"label={asked}: give one {name}, or shares that add up to 1, as in a:0.7,b:0.3"
            )
    return {name: {} if "" in shares else shares for name, shares in parsed.items()}


def _meanings(labels: Labels) -> dict[str, list[tuple[str, str]]]:
    """What can be asked for: the labels and values that each spelling means, "" for none."""
    meanings: dict[str, list[tuple[str, str]]] = {}
    for name, values in labels.values.items():
        for value in values:
            meanings.setdefault(value, []).append((name, value))
            meanings[f"{name}:{value}"] = [(name, value)]
        meanings.setdefault(f"{name}:none", [(name, "")])
    return meanings


def _drawn(labels: Labels, wanted: Shares, streams: int, seed: int) -> list[Combination]:
    """For each stream the labels of a document of the data that has what is given, or none."""
    fitting = {
        each: count
        for each, count in labels.counts.items()
        if all(not mix or labels.named(each).get(name) in mix for name, mix in wanted.items())
    }
    if not fitting or len(wanted) == len(labels.values):
        return [(0,) * len(labels.values)] * streams
    places = np.cumsum([*fitting.values()])
    draws = uniforms(seed, _STREAM, 0, streams) * places[-1]
    return [[*fitting][int(at)] for at in np.searchsorted(places, draws, side="right")]


def _row(labels: Labels, shares: Shares) -> Floats:
    """How much there is of each row of the embedding of labels, (R,)."""
    rows = list[float]()
    for name, values in labels.values.items():
        of_label = shares.get(name) or {"": 1.0}  # none of its values
        rows += [of_label.get(value, 0.0) for value in ("", *values)]
    return np.array(rows, np.float32)
