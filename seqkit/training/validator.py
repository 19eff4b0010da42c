"""What the validations of a training find, and what they choose."""

import math
from collections.abc import Callable

from seqkit.config import TrainConfig
from seqkit.foundation.errors import DivergedError
from seqkit.model.char_rnn import CharRNN
from seqkit.training.events import Validated
from seqkit.training.progress import TrainingProgress
from seqkit.training.validation import Validation, calibrated
from seqkit.training.weights import TrainingWeights


class Validator:
    """Validates the weights of a training on its validation part.

    All processes have to call the same methods.
    """

    def __init__(
        self,
        validation: Validation,
        weights: TrainingWeights,
        train: TrainConfig,
    ) -> None:
        """`weights` are those of the training, those of evaluation among them."""
        self._validation = validation
        self._weights = weights
        self._chosen = ("average" if train.average else "raw", 1.0)  # weights and temperature

    @property
    def total(self) -> int:
        """The symbols of the part."""
        return len(self._validation)

    @property
    def scored(self) -> int:
        """How many of them each validation scores."""
        return self._validation.scored

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
        scored = self._validation.scored
        if scored != (progress.scored or len(self._validation)):
            progress.forget_best()
        progress.scored = scored
        found = self._validation.choose(self._weights.models(), watch)
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
            scored=scored,
            total=len(self._validation),
            since=progress.since,
        )
