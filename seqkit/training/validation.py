"""A validation: which weights, at which temperature, predict the validation part best."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, scoring
from seqkit.foundation.errors import DivergedError
from seqkit.foundation.ranks import ALONE, Ranks
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.model.network import cross_entropy
from seqkit.training.events import Validated
from seqkit.training.progress import TrainingProgress
from seqkit.training.weights import TrainingWeights

_TEMPERATURES = [n / 20 for n in range(16, 41)]
"""From 0.8 to 2: strong dropout, and many epochs over little data, call for more than 1."""
_LOGITS = 1 << 24  # that a GPU divides by temperatures at once
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
    """The validation part, what of it is scored, and which weights it was found to choose.

    All of it is scored, or `SCORED` symbols spread over it. All processes have to call the same
    methods.
    """

    def __init__(
        self,
        part: Part,
        start: int,
        execution: Execution,
        weights: TrainingWeights,
        *,
        calibrate: bool,
        ranks: Ranks = ALONE,
    ) -> None:
        """Args:
        part: the symbols; empty for none.
        start: the codec's start symbol.
        execution: that of the training.
        weights: of the training, those of evaluation among them.
        calibrate: whether a temperature is looked for; else it is 1.
        ranks: the processes that share the work.
        """
        self._part = part
        self._start, self._execution = start, execution
        self._weights = weights
        self._calibrate = calibrate
        self._ranks = ranks
        self._chosen = ("average" if weights.average else "raw", 1.0)  # weights and temperature
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

    def model(self) -> CharRNN:
        """What the last validation chose; before any, the average if there is one."""
        weights, temperature = self._chosen
        return calibrated(self._weights.models()[weights], temperature)

    def restore(self, progress: TrainingProgress) -> None:
        """At the best step, take again what its validation chose."""
        weights, temperature = progress.best_weights, progress.best_temperature
        at_best = progress.step == progress.best_step
        if at_best and weights in self._weights.models() and temperature:
            self._chosen = weights, temperature

    def validate(self, progress: TrainingProgress, watch: Callable[[int], None]) -> Validated:
        """Validate the weights as they are, and note in `progress` what was found.

        Raises:
            DivergedError: the loss is not finite.
        """
        if self.scored != (progress.scored or len(self)):
            progress.forget_best()
        progress.scored = self.scored
        found = self.choose(self._weights.models(), watch)
        if not math.isfinite(found.losses["raw"]):
            raise DivergedError(
                f"the validation loss is {found.losses['raw']} at step {progress.step}: "
                "try a smaller optimizer.lr or train.clip_norm"
            )
        self._chosen = found.weights, found.temperature
        improved = progress.validated(found.loss, *self._chosen)
        return Validated(
            step=progress.step,
            seconds=progress.seconds,
            loss=found.loss,
            bits_per_symbol=found.loss / math.log(2),
            weights=found.weights,
            temperature=found.temperature,
            raw_loss=found.losses["raw"],
            average_loss=found.losses.get("average"),
            improved=improved,
            best_loss=min(found.loss, progress.best_loss or found.loss),
            scored=self.scored,
            total=len(self),
            since=progress.since,
        )

    def choose(
        self, models: dict[str, CharRNN], watch: Callable[[int], None] = lambda scored: None
    ) -> Choice:
        """The best of these models, by what is scored; of two that are alike, the first.

        `watch` is told how many of these symbols are scored, by all models on average.
        """
        losses: dict[tuple[str, float], float] = {}
        for number, (name, model) in enumerate(models.items()):
            before = number * self.scored

            def told(done: int, before: int = before) -> None:
                watch((before + done) // len(models))

            losses |= {(name, t): loss for t, loss in self._losses(model, told).items()}
        best = min(losses, key=losses.__getitem__)
        return Choice(*best, losses[best], {name: losses[name, 1.0] for name in models})

    @torch.inference_mode()
    def _losses(self, model: CharRNN, watch: Callable[[int], None]) -> dict[float, float]:
        """The loss at every temperature that is tried, 1 among them."""
        tried = _TEMPERATURES if self._calibrate else [1.0]
        kernel = "persistent" if self._execution.kernel == "persistent" else None
        network = model.network(dtype=self._execution.dtype, kernel=kernel)
        scored = scoring.Scored(model, self._part, self._start, watch, self._ranks)
        totals = torch.zeros(len(tried), dtype=torch.float64)
        for chunk in scoring.chunks(scored, self._segments, network):
            totals += torch.tensor(_sums(chunk, tried), dtype=torch.float64)
        self._ranks.sum(totals)
        return dict(zip(tried, (totals / self.scored).tolist(), strict=True))


def _sums(chunk: scoring.Chunk, temperatures: list[float]) -> list[float]:
    """The nats of a chunk's symbols that count, at each temperature."""
    if temperatures == [1.0]:
        return [float(chunk.nats.double().sum())]
    logits, targets = chunk.trace.logits.float(), chunk.targets
    # A GPU does as many temperatures at once as memory allows; a CPU's caches hold those of one.
    together = max(1, _LOGITS // logits.numel()) if logits.is_cuda else 1
    sums = []
    for divisors in torch.split(torch.tensor(temperatures, device=logits.device), together):
        divided = logits / divisors.view(-1, *[1] * logits.dim())
        nats = cross_entropy(divided, targets.expand(len(divided), *targets.shape), "none")
        sums.append(nats.flatten(1).sum(1))
    return [float(value) for value in torch.cat(sums).tolist()]


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
