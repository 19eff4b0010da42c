"""Which labels a sample has: those that are asked for, or drawn as the data combines them."""

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from seqkit.data.labels import Labels, distinct
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import nearest
from seqkit.foundation.wording import composed
from seqkit.generation.sampler import Request
from seqkit.symbols import SEEDS, Floats, Integers, uniforms

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
    """What is asked for, such as `austen` or `digit:7,speaker:jackson`.

    Labels that are not asked for are drawn for each stream, from the combinations that the data has
    of them and those that are; a seed further by `SEEDS` draws the same. `none` is no label, and
    `digit:none` none of these.

    Raises ConfigError: there is no such label or value, or two values of one label are asked for.
    """
    count = len(labels.values)
    wanted = dict.fromkeys(range(count), 0) if asked == "none" else _parsed(labels, asked or "")
    fitting = [
        each
        for each in labels.combinations
        if all(not number or each[label] == number for label, number in wanted.items())
    ]
    rows = np.zeros((streams, count), np.int64)
    if fitting and len(wanted) < count:
        draws = uniforms(seed % SEEDS, _STREAM, 0, streams) * len(fitting)
        rows = np.array(fitting)[draws.astype(np.int64)]
    for label, number in wanted.items():
        rows[:, label] = number
    combinations, chosen = distinct(rows)
    weights = _weights(labels, np.pad(combinations, ((1, 0), (0, 0))))
    return Choice(weights, chosen + 1, [labels.describe(tuple(row)) for row in rows.tolist()])


def every(labels: Labels) -> Floats:
    """The choices of all combinations, (n, R), none first; the first label changes from row to row.

    Raises ConfigError: they are too many for a table.
    """
    count = math.prod(size + 1 for size in labels.sizes)
    if count > _MOST:
        raise ConfigError(f"{count:,} combinations of labels are too many to export")
    numbers = (range(size + 1) for size in reversed(labels.sizes))
    return _weights(labels, np.array([*itertools.product(*numbers)])[:, ::-1])


def _weights(labels: Labels, combinations: Integers) -> Floats:
    """Which rows of the embedding of labels combinations (n, K) have, (n, R)."""
    pairs = zip(labels.sizes, combinations.T, strict=True)
    return np.concatenate([np.eye(size + 1, dtype=np.float32)[own] for size, own in pairs], 1)


def _parsed(labels: Labels, asked: str) -> dict[int, int]:
    """By the place of each label that is asked for, its value's number, or 0. ConfigError."""
    meanings: dict[str, list[tuple[int, int]]] = {}  # the labels and numbers of each spelling
    for label, (name, values) in enumerate(labels.values.items()):
        for number, value in enumerate(values, 1):
            meanings.setdefault(value, []).append((label, number))
            meanings[f"{name}:{value}"] = [(label, number)]
        meanings.setdefault(f"{name}:none", [(label, 0)])
    parsed, names, whole = dict[int, int](), [*labels.values], composed(asked)
    pieces = [whole] if whole in meanings else whole.split(",") if whole else []
    for piece in map(str.strip, pieces):
        if piece not in meanings:
            name, _, value = piece.partition(":")
            value = value if name in labels.values else piece
            hint = nearest(value, [*itertools.chain(*labels.values.values())])
            raise ConfigError(f"label={asked}: no label {value}{hint} It knows {labels.summary}")
        (label, number), *others = meanings[piece]
        if others:
            choices = " or ".join(f"{names[each]}:{piece}" for each, _ in meanings[piece])
            raise ConfigError(f"label={asked}: several labels have that value: give {choices}")
        if label in parsed:
            raise ConfigError(f"label={asked}: give one {names[label]}: labels are not mixed")
        parsed[label] = number
    return parsed
