"""How well one model predicts data, or several do by the mean of their probabilities."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from seqkit.config import DynamicConfig
from seqkit.evaluation import dynamic, surprise
from seqkit.evaluation.score import Score, Tally
from seqkit.evaluation.scoring import Scored
from seqkit.symbols import Floats, Integers


def evaluate(members: Sequence[Scored], settings: DynamicConfig | None = None) -> Score:
    """The score of models that stream the same part; with settings each learns what it reads."""
    tally = Tally(members[0].part)
    for each in zip(*(_nats(scored, settings) for scored in members), strict=True):
        nats = np.stack([nats for _, nats in each])
        tally.add(each[0][0], math.log(len(nats)) - np.logaddexp.reduce(-nats))
    return tally.score()


def _nats(scored: Scored, settings: DynamicConfig | None) -> Iterator[tuple[Integers, Floats]]:
    """Some places (n,) and their nats (n,) after the other, the same places of every model."""
    if settings is not None:
        yield from dynamic.nats(scored, settings)
        return
    for stretch in surprise.stretches(scored):
        yield np.arange(stretch.begin, stretch.end), stretch.nats
