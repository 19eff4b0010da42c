"""What validations find in a training, how long they take, and how much they score."""

import math
from collections.abc import Callable

from seqkit.config import TrainConfig
from seqkit.foundation.errors import DivergedError
from seqkit.foundation.ranks import Ranks
from seqkit.model.char_rnn import CharRNN
from seqkit.training.events import PartScored, Validated
from seqkit.training.progress import TrainingProgress
from seqkit.training.time_budget import VALIDATIONS, TimeBudget
from seqkit.training.validation import Validation, calibrated
from seqkit.training.weights import TrainingWeights

_LONG = 10.0  # seconds of a validation, before which the training is saved


class Validator:
    """Validates the weights of a training on its validation part.

    All processes have to call the same methods.
    """

    def __init__(
        self,
        validation: Validation,
        weights: TrainingWeights,
        train: TrainConfig,
        time: TimeBudget,
        clock: Callable[[], float],
        ranks: Ranks,
    ) -> None:
        """Args:
        validation: the part, and how it is scored.
        weights: of the training, those of evaluation among them.
        train: with validate_every, average and max_minutes.
        time: that the training has.
        clock: seconds that never go back; the same for all processes where there is a budget.
        ranks: the processes that train together.
        """
        self._validation = validation
        self._weights = weights
        self._train = train
        self._time = time
        self._clock = clock
        self._ranks = ranks
        self._chosen = ("average" if train.average else "raw", 1.0)  # weights and temperature
        self._symbol_seconds: float | None = None  # of a symbol that is run
        self.agree: Callable[[int], int] = lambda scored: scored
        """How many symbols a validation scores, given how many there is time for."""

    def model(self) -> CharRNN:
        """What the last validation chose; before any, the average if there is one."""
        weights, temperature = self._chosen
        return calibrated(self._weights.models()[weights], temperature)

    def restore(self, progress: TrainingProgress) -> None:
        """Score from now on what was scored before, if the budget is the same.

        At the best step, take again what its validation chose.
        """
        weights, temperature = progress.best_weights, progress.best_temperature
        at_best = progress.step == progress.best_step
        if at_best and weights in self._weights.models() and temperature:
            self._chosen = weights, temperature
        if (scored := self._time.scored) is not None:
            self._validation.score_only(scored)

    def choose_scored(self, step: int) -> PartScored | None:
        """Find out once how much there is time to score; an event if that is not all.

        It is a matter of seconds that are measured, so it is kept with the training's state: every
        validation scores the same.
        """
        time, validation = self._time, self._validation
        if not self._train.max_minutes or not len(validation) or time.scored is not None:
            return None
        each, every = self._seconds_each(), self._train.validate_every
        validation.score_only(len(validation))
        validations = max(time.total_steps(step) / every, VALIDATIONS) if every else 1.0
        validation.run_only(time.affordable(validation.cost, each, validations))
        agreed = self._ranks.shared(lambda: self.agree(validation.scored))
        if agreed != validation.scored:
            own = validation.cost
            validation.score_only(agreed)
            validation.run_only(max(own, time.bearable(each, validations)))
        time.plan_validations(validation.scored, each * validation.cost)
        if validation.scored == len(validation):
            return None
        return PartScored(step, validation.scored, len(validation), self._train.max_minutes)

    def takes_long(self) -> bool:
        """Whether a kill would be likely to hit the next validation."""
        seconds = self._seconds_each() * self._validation.cost
        return self._ranks.shared(lambda: seconds > _LONG)

    def validate(self, progress: TrainingProgress, watch: Callable[[int], None]) -> Validated:
        """Validate the weights as they are, and note in `progress` what was found.

        Raises:
            DivergedError: the loss is not finite.
        """
        scored = self._validation.scored
        if scored != (progress.scored or len(self._validation)):
            progress.forget_best()
        progress.scored = scored
        begun = self._clock()
        found = self._validation.choose(self._weights.models(), watch)
        self._symbol_seconds = (self._clock() - begun) / self._validation.cost
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

    def _seconds_each(self) -> float:
        """The time of a symbol that is run: the last validation's, or a trial's."""
        if self._symbol_seconds is None:
            models = self._weights.models()
            self._symbol_seconds = self._validation.symbol_seconds(models, self._clock)
        return self._symbol_seconds
