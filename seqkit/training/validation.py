"""A validation: which weights, at which temperature, predict the validation part best."""

import bisect
import functools
import math
from collections.abc import Iterable, Sequence

import numpy as np
import torch

from seqkit.data.corpus import Part
from seqkit.evaluation import scoring
from seqkit.evaluation.scoring import Chunk
from seqkit.foundation.errors import DivergedError
from seqkit.foundation.ranks import ALONE, Ranks
from seqkit.lstm import Execution
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import cross_entropy
from seqkit.symbols import Integers
from seqkit.training.events import TrainingProgress, Validated
from seqkit.training.weights import TrainingWeights

_TEMPERATURES = [n / 20 for n in range(16, 41)]
"""From 0.8 to 2: strong dropout, and many epochs over little data, call for more than 1."""
_KEPT = {"cpu": 1 << 24, "cuda": 1 << 26}  # logits to choose a temperature by, if these are all
_ENOUGH = 4096  # symbols to choose it by, if they are more
SCORED = 1 << 17
"""Symbols that a validation scores at most: the same on every machine, so that losses compare."""


Losses = dict[tuple[str, float], float]
"""In nats per symbol, by the weights' name in `TrainingWeights.models`, and the temperature."""


class Validation:
    """The validation part, what of it is scored, and which weights it was found to choose.

    All of it is scored, or `SCORED` symbols spread over it. All processes have to call the same
    methods; the first one computes.
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
        """`part` may be empty. `calibrate`: whether a temperature is looked for; else it is 1."""
        self._part = part
        self._start, self._execution = start, execution
        self._weights = weights
        self._calibrate = calibrate
        self._ranks = ranks
        self._chosen = ("average" if weights.average else "raw", 1.0)  # weights and temperature
        if len(part) > SCORED:
            self._segments = scoring.spread(part, SCORED)
        else:
            self._segments = scoring.warmed(part) if len(part) else np.zeros((0, 3), np.int64)
        _, begin, end = self._segments.T
        self.scored = int((end - begin).sum())
        """How many symbols of the part are scored."""

    def model(self) -> CharRNN:
        """What the last validation chose; before any, the average if there is one."""
        weights, temperature = self._chosen
        return calibrated(self._weights.models()[weights], temperature)

    def validate(self, progress: TrainingProgress) -> Validated:
        """Validate the weights as they are, and note in `progress` what was found.

        Raises DivergedError: the loss is not finite.
        """
        losses = self._ranks.shared(lambda: self.losses(self._weights.models()))
        raw = losses["raw", 1.0]
        if not math.isfinite(raw):
            raise DivergedError(
                f"the validation loss is {raw} at step {progress.step}: "
                "try a smaller optimizer.lr, or train.clip_norm=1"
            )
        self._chosen = weights, temperature = min(losses, key=losses.__getitem__)
        loss = losses[self._chosen]
        improved = progress.validated(loss)
        assert progress.best_loss is not None
        return Validated(
            step=progress.step,
            seconds=progress.seconds,
            loss=loss,
            bits_per_symbol=loss / math.log(2),
            weights=weights,
            temperature=temperature,
            raw_loss=raw,
            average_loss=losses.get(("average", 1.0)),
            improved=improved,
            best_loss=progress.best_loss,
            scored=self.scored,
            total=len(self._part),
        )

    def losses(self, models: dict[str, CharRNN]) -> Losses:
        """The losses of models, each at temperature 1 and, if it is wanted, at its best one."""
        return {
            (name, temperature): loss
            for name, model in models.items()
            for temperature, loss in self._losses(model).items()
        }

    @torch.inference_mode()
    def _losses(self, model: CharRNN) -> dict[float, float]:
        """The loss at temperature 1, and at the one that suits the model best, if it is wanted.

        That is found by logits that are kept, of all symbols or of some, spread over the part.
        """
        kernel = self._execution.kernel if self._execution.persistent else None
        network = model.runnable_weights(dtype=self._execution.dtype, kernel=kernel)

        def run(segments: Integers) -> Iterable[Chunk]:
            return scoring.chunks(scored, segments, network)

        scored = scoring.Scored(model, self._part, self._start)
        parts, tried = run(self._segments), [1.0]
        if self._calibrate:
            most = _KEPT[model.head.weight.device.type] // model.config.vocabulary_size
            if self.scored <= most:
                kept = parts = [*parts]
            else:
                kept = [*run(scoring.spread(self._part, min(_ENOUGH, most)))]
            tried.append(self._best_temperature(kept))
        totals = torch.zeros(len(tried), dtype=torch.float64)
        for part in parts:
            totals += torch.tensor([_nats(part, t) for t in tried], dtype=torch.float64)
        return dict(zip(tried, (totals / self.scored).tolist(), strict=True))

    def _best_temperature(self, parts: Sequence[Chunk]) -> float:
        """From the last one downhill: nats are convex in the inverse of the temperature."""

        @functools.cache
        def nats(place: int) -> float:
            return math.fsum(_nats(part, _TEMPERATURES[place]) for part in parts)

        place = bisect.bisect_left(_TEMPERATURES[:-1], self._chosen[1])
        while place and nats(place - 1) < nats(place):
            place -= 1
        while place + 1 < len(_TEMPERATURES) and nats(place + 1) < nats(place):
            place += 1
        return _TEMPERATURES[place]


def _nats(chunk: Chunk, temperature: float) -> float:
    """The nats of a chunk in all, if its logits are divided by a temperature."""
    nats = chunk.nats
    if temperature != 1:
        nats = cross_entropy(chunk.logits.float() / temperature, chunk.targets, "none")
    return float(nats.double().sum())


@torch.no_grad()
def calibrated(model: CharRNN, temperature: float) -> CharRNN:
    """The model, or a copy of it whose logits are divided by the temperature.

    Guo et al., "On calibration of modern neural networks" (2017).
    """
    if temperature == 1:
        return model
    copied = model.copied()
    for parameter in copied.head.parameters():
        parameter.div_(temperature)
    return copied
