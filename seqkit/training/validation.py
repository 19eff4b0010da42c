"""A validation: which weights, at which temperature, predict the validation part best."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, scoring
from seqkit.foundation.ranks import ALONE, Ranks
from seqkit.model.char_rnn import CharRNN
from seqkit.model.loss import cross_entropy
from seqkit.symbols import Integers

_TEMPERATURES = [n / 20 for n in range(16, 41)]
"""From 0.8 to 2: strong dropout, and many epochs over little data, call for more than 1."""
_SAMPLE = 1 << 16  # symbols after which only the temperatures near the best are tried
_NEAR = 0.11  # so far from it
_TRIED = 64  # symbols of each lane that is timed
_SOON = 0.5  # seconds after which a trial is not repeated, though the first one takes longer


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
    """The validation part, how it is scored, and how much of it.

    What it costs is counted in symbols that are run: those that are scored, and those before them
    on which the state is warmed up.
    """

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
        self.score_only(len(part))

    def __len__(self) -> int:
        """The symbols of the part."""
        return len(self._part)

    def score_only(self, symbols: int) -> None:
        """From now on score only so many symbols, spread evenly over the part, or a few less."""
        if symbols < len(self):
            self._take(protocols.spread(self._part, symbols))
        else:
            self._take(protocols.warmed(self._part) if len(self) else np.zeros((0, 3), np.int64))

    def run_only(self, symbols: int) -> None:
        """From now on run only so many symbols, warm-up included: score what that suffices for.

        That is a power of two, so that runs on one machine score the same.
        """
        if symbols < self.cost:
            warm_up = min(protocols.LANES * protocols.WARM, symbols // 2)
            self.score_only(1 << max(symbols - warm_up, 1).bit_length() - 1)

    def _take(self, segments: Integers) -> None:
        warm, begin, end = segments.T
        self._segments = segments
        self.scored = int((end - begin).sum())
        """How many symbols of the part are scored."""
        self.cost = int((end - warm).sum())
        """How many symbols are run for that."""

    def symbol_seconds(self, models: dict[str, CharRNN], clock: Callable[[], float]) -> float:
        """The time that a symbol takes in all models and the processes together, by a trial."""
        longest = min(protocols.LANES * protocols.WARM, len(self._part))
        _, begins, ends = protocols.spread(self._part, longest).T
        tried = Validation(self._part, self._start, self._precision, calibrate=self._calibrate)
        tried._take(np.stack([begins, begins, np.minimum(begins + _TRIED, ends)], axis=1))
        model = next(iter(models.values()))
        for _ in range(2):  # the first one may choose kernels
            begun = clock()
            tried._losses(model)
            took = clock() - begun
            if took > _SOON:
                break
        return took * len(models) / tried.cost / self._ranks.place.size

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
        tried, done = _TEMPERATURES if self._calibrate else [1.0], 0
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
            done += int(chunk.counted.sum())
            # Once: what was left out has no whole total. Several processes would have to agree.
            if tried is _TEMPERATURES and done >= _SAMPLE and self._ranks.alone:
                tried = _near(min(tried, key=totals.__getitem__))
        found = self._ranks.totals([totals[t] for t in tried])
        return {t: total / self.scored for t, total in zip(tried, found, strict=True)}


def _sums(chunk: scoring.Chunk, temperatures: list[float]) -> list[float]:
    """The nats of a chunk's symbols that count, at each temperature."""
    if temperatures == [1.0]:
        return [float(chunk.nats.double().sum())]
    logits = chunk.logits.float()
    sums = [cross_entropy(logits / t, chunk.targets, "sum") for t in temperatures]
    return [float(value) for value in torch.stack(sums).tolist()]


def _near(best: float) -> list[float]:
    """The temperatures that may yet be the best, and 1."""
    return [t for t in _TEMPERATURES if abs(t - best) < _NEAR or t == 1]


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
