"""The loss that a recommended training is expected to reach: a fit to runs in docs/results.md.

    loss = baseline · (a + b · M ** -c)

M counts the symbols that the training reads, in millions. A part that is read again and again
counts no more than `_EPOCHS` times. The baseline is what the validation part costs a model
that needs no network and has read the end of the training part: the Kneser-Ney model of text, the
table of two symbols of sound (`baselines.of_validation`).
"""

import math
from typing import NamedTuple


class Fit(NamedTuple):
    """The constants, the millions of symbols that they reach from and to, and the spread."""

    a: float
    b: float
    c: float
    fewest: float
    most: float
    spread: float
    """The largest error on the runs of the fit, as a share of the loss."""


class Expected(NamedTuple):
    """A loss in nats a symbol, and between what it lies on the runs of the fit."""

    loss: float
    low: float
    high: float
    within: bool
    """Whether the training is as long as those of the fit were."""


FITS = {
    "text": Fit(a=0.86, b=0.25, c=0.5, fewest=0.4, most=12.3, spread=0.1),
    "audio": Fit(a=0.6, b=0.2, c=0.4, fewest=0.8, most=163, spread=0.17),
}
_EPOCHS = 60


def expected_loss(
    kind: str, baseline_bits: float, read: float, part: float, vocabulary: int
) -> Expected:
    """What a training that reads `read` symbols of a part of `part` symbols comes to.

    `kind` is text, bytes or audio; `baseline_bits` is the baseline in bits a symbol. No loss is
    expected above that of blind guessing among the `vocabulary`: no training ends there.
    """
    fit = FITS["audio" if kind == "audio" else "text"]
    millions = max(min(read, _EPOCHS * part), 1) / 1e6
    loss = baseline_bits * math.log(2) * (fit.a + fit.b * millions**-fit.c)
    within = fit.fewest <= millions <= fit.most
    blind = math.log(vocabulary)
    low, high = loss * (1 - fit.spread), loss * (1 + fit.spread)
    return Expected(min(loss, blind), min(low, blind), min(high, blind), within)
