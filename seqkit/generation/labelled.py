"""Which labels a sample has: those that are asked for, or drawn as often as the data has them."""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from seqkit.data.labels import Combination, Labels, distinct
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.randomness import SEEDS, uniforms
from seqkit.foundation.settings import nearest
from seqkit.generation.request import Request
from seqkit.symbols import Floats, Integers

_STREAM = (1 << 33) + 1  # of draws; no sample has it
_MOST = 100_000  # rows of a table
_SHOWN = 8  # labels that are named


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
    """What is asked for: `austen`, or `digit:7,speaker:jackson`.

    A label that is not asked for is drawn for each stream, as often as the data has it together
    with those that are; a seed further by `SEEDS` draws the same. `none` is no label, and
    `digit:none` none of these.

    Raises:
        ConfigError: there is no such label or value, or two values of one label are asked for.
    """
    wanted = dict.fromkeys(range(len(labels.values)), 0)
    if asked != "none":
        wanted = _parsed(labels, asked or "")
    chosen = np.array(_drawn(labels, wanted, streams, seed % SEEDS))
    for place, number in wanted.items():
        chosen[:, place] = number
    combinations, places = distinct(chosen)
    rows = [_row(labels, each) for each in combinations.tolist()]
    words = [labels.describe(each) for each in combinations.tolist()]
    no_label = _row(labels, [0] * len(labels.values))
    return Choice(np.stack([no_label, *rows]), places + 1, [words[place] for place in places])


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
    return np.stack([_row(labels, each) for each in combinations])


def _parsed(labels: Labels, asked: str) -> dict[int, int]:
    """The number of the value, 0 for none, of each label that is asked for, by the label's place.

    Raises ConfigError.
    """
    meanings = _meanings(labels)
    known = "|".join(map(re.escape, sorted(meanings, key=len, reverse=True)))  # the longest counts
    piece = re.compile(rf"\s*({known})\s*(?:,|$)")
    parsed, rest, names = dict[int, int](), asked, [*labels.values]
    while rest:
        if (found := piece.match(rest)) is None:
            first = rest.partition(",")[0].strip()
            name, _, value = first.partition(":")
            value = value if name in labels.values else first
            hint = nearest(value, [*itertools.chain(*labels.values.values())])
            raise ConfigError(f"label={asked}: no label {value}{hint} It knows {labels.summary}")
        (place, number), *others = meanings[found[1]]
        if others:
            choices = " or ".join(f"{names[each]}:{found[1]}" for each, _ in meanings[found[1]])
            raise ConfigError(f"label={asked}: several labels have that value: give {choices}")
        if place in parsed:
            raise ConfigError(f"label={asked}: give one {names[place]}")
        parsed[place] = number
        rest = rest[found.end() :]
    return parsed


def _meanings(labels: Labels) -> dict[str, list[tuple[int, int]]]:
    """What can be asked for: the place of the label and the value's number that each means."""
    meanings: dict[str, list[tuple[int, int]]] = {}
    for place, (name, values) in enumerate(labels.values.items()):
        for number, value in enumerate(values, 1):
            meanings.setdefault(value, []).append((place, number))
            meanings[f"{name}:{value}"] = [(place, number)]
        meanings.setdefault(f"{name}:none", [(place, 0)])
    return meanings


def _drawn(labels: Labels, wanted: Mapping[int, int], streams: int, seed: int) -> list[Combination]:
    """For each stream the labels of a document of the data that has what is given, or none."""
    fitting = {
        each: count
        for each, count in labels.counts.items()
        if all(number in (0, each[place]) for place, number in wanted.items())
    }
    if not fitting or len(wanted) == len(labels.values):
        return [(0,) * len(labels.values)] * streams
    places = np.cumsum([*fitting.values()])
    draws = uniforms(seed, _STREAM, 0, streams) * places[-1]
    return [[*fitting][int(at)] for at in np.searchsorted(places, draws, side="right")]


def _row(labels: Labels, combination: Sequence[int]) -> Floats:
    """How much there is of each row of the embedding of labels, (R,)."""
    rows = [np.eye(size + 1)[each] for size, each in zip(labels.sizes, combination, strict=True)]
    return np.concatenate(rows).astype(np.float32)
