"""A validation: which weights, at which temperature, predict the validation part best."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, scoring
from seqkit.foundation.ranks import ALONE, Ranks
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import cross_entropy

_TEMPERATURES = [n / 20 for n in range(16, 41)]
"""From 0.8 to 2: strong dropout, and many epochs over little data, call for more than 1."""
SCORED = 1 << 17
"""Symbols that a validation scores at most: the same on every machine, so that losses compare."""


@dataclass(frozen=True)
class Choice:
    """Which weights predict best, their name in `TrainingWeights.models`, and at which temperature.

    `losses` are those of all weights at temperature 1, in nats per symbol; `loss` is the best.
    """

    weights: str
    temperature: float
    loss: float
    losses: dict[str, float]


class Validation:
    """The validation part, and what of it is scored: all, or `SCORED` symbols spread over it."""

    def __init__(
        self,
        part: Part,
        start: int,
        precision: str,
        *,
        calibrate: bool,
        ranks: Ranks = ALONE,
    ) -> None:
        """Args:
        part: the symbols; empty for none.
        start: the codec's start symbol.
        precision: of the matrix products.
        calibrate: whether a temperature is looked for; else it is 1.
        ranks: the processes that share the work.
        """
        self._part = part
        self._start, self._precision = start, precision
        self._calibrate = calibrate
        self._ranks = ranks
        if len(part) > SCORED:
            self._segments = protocols.spread(part, SCORED)
        else:
            self._segments = protocols.warmed(part) if len(part) else np.zeros((0, 3), np.int64)
        _, begin, end = self._segments.T
        self.scored = int((end - begin).sum())
        """How many symbols of the part are scored."""

    def __len__(self) -> int:
        """The symbols of the part."""
        return len(self._part)

    def choose(
        self, models: dict[str, CharRNN], watch: Callable[[int], None] = lambda scored: None
    ) -> Choice:
        """The best of these models, by what is scored; of two that are alike, the first.

        `watch` is told how many of these symbols are scored, by all models on average.
        """
        found: dict[str, dict[float, float]] = {}
        for number, (name, model) in enumerate(models.items()):
            before = number * self.scored

            def told(done: int, before: int = before) -> None:
                watch((before + done) // len(models))

            found[name] = self._losses(model, told)
        loss, _, weights, temperature = min(
            (loss, number, name, temperature)
            for number, (name, losses) in enumerate(found.items())
            for temperature, loss in losses.items()
        )
        return Choice(weights, temperature, loss, {name: own[1.0] for name, own in found.items()})

    @torch.inference_mode()
    def _losses(
        self, model: CharRNN, watch: Callable[[int], None] = lambda scored: None
    ) -> dict[float, float]:
        """The loss at every temperature that is tried, 1 among them."""
        tried = _TEMPERATURES if self._calibrate else [1.0]
        totals = dict.fromkeys(tried, 0.0)
        for chunk in scoring.chunks(
            model,
            self._part,
            start=self._start,
            segments=self._segments,
            precision=self._precision,
            watch=watch,
            ranks=self._ranks,
        ):
            for t, value in zip(tried, _sums(chunk, tried), strict=True):
                totals[t] += value
        found = self._ranks.totals([totals[t] for t in tried])
        return {t: total / self.scored for t, total in zip(tried, found, strict=True)}


def _sums(chunk: scoring.Chunk, temperatures: list[float]) -> list[float]:
    """The nats of a chunk's symbols that count, at each temperature."""
    if temperatures == [1.0]:
        return [float(chunk.nats.double().sum())]
    logits = chunk.logits.float()
    sums = [cross_entropy(logits / t, chunk.targets, "sum") for t in temperatures]
    return [float(value) for value in torch.stack(sums).tolist()]


@torch.no_grad()
def calibrated(model: CharRNN, temperature: float) -> CharRNN:
    """The model, or a copy of it whose logits are divided by the temperature.

    Guo et al., "On calibration of modern neural networks" (2017).
    """
    if temperature == 1:
        return model
    made = model.copied()
    for parameter in made.head.parameters():
        parameter.div_(temperature)
    return made
