"""A validation: which weights, at which temperature, predict the validation part best."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, scoring
from seqkit.model.char_rnn import CharRNN
from seqkit.model.loss import cross_entropy
from seqkit.ranks import ALONE, Ranks

_TEMPERATURES = [n / 20 for n in range(16, 41)]
"""From 0.8 to 2: strong dropout, and many epochs over little data, call for more than 1."""
_SAMPLE = 1 << 16  # symbols after which only the temperatures near the best are tried
_NEAR = 0.11  # so far from it


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
    """The validation part, and how it is scored."""

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

    def __len__(self) -> int:
        """The symbols of the part."""
        return len(self._part)

    def choose(
        self, models: dict[str, CharRNN], watch: Callable[[int], None] = lambda scored: None
    ) -> Choice:
        """The best of these models, on the whole part; of two that are alike, the first.

        `watch` is told how many of the part's symbols are scored, by all models on average.
        """
        found: dict[str, dict[float, float]] = {}
        for number, (name, model) in enumerate(models.items()):
            before = number * len(self._part)

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
    def _losses(self, model: CharRNN, watch: Callable[[int], None]) -> dict[float, float]:
        """The loss at every temperature that is tried, 1 among them."""
        segments = protocols.warmed(self._part)
        if not self._calibrate:
            score = scoring.evaluate(
                model,
                self._part,
                start=self._start,
                segments=segments,
                precision=self._precision,
                watch=watch,
                ranks=self._ranks,
            )
            return {1.0: score.loss}
        tried, done = _TEMPERATURES, 0
        totals = dict.fromkeys(tried, 0.0)
        for chunk in scoring.shared_chunks(
            model,
            self._part,
            start=self._start,
            segments=segments,
            precision=self._precision,
            ranks=self._ranks,
        ):
            if chunk is not None:
                logits = chunk.logits.float()
                sums = [cross_entropy(logits / t, chunk.targets, "sum") for t in tried]
                for t, value in zip(tried, torch.stack(sums).tolist(), strict=True):
                    totals[t] += value
                done += int(chunk.counted.sum())
            # Once: what was left out has no whole total. Several processes would have to agree.
            if tried is _TEMPERATURES and done >= _SAMPLE and self._ranks.alone:
                tried = _near(min(tried, key=totals.__getitem__))
            watch(min(done * self._ranks.place.size, len(self._part)))
        found = self._ranks.totals([totals[t] for t in tried])
        return {t: total / len(self._part) for t, total in zip(tried, found, strict=True)}


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
