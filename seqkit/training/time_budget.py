"""The wall time of a training, and the schedule of one that is to end by the clock.

A budget has no number of steps: the learning rate follows the time that is spent. A machine that
becomes slower or faster changes how many steps are made, and neither when the training ends nor
where its learning rate stands then.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from seqkit.config import OptimizerConfig
from seqkit.training.schedule import decayed

_WARM_UP = 0.1  # of the budget at most, however few steps that are
_VALIDATIONS = 5  # spread over the budget, if steps do not bring as many
_SHARE = 0.1  # of the time: what these validations take at most, and so do samples
_GRAIN = 0.01  # of the budget: the clock is looked at more often than that
_MEMORY = 60.0  # seconds over which the pace is judged
_UNSAVED = 120.0  # seconds of work that a kill or a power cut may cost
_SETUP = 10.0  # seconds that the first step of a sitting may take longer than others


@dataclass
class Spent:
    """What a checkpoint keeps of the time: seconds from the first step on, stops left out.

    Attributes:
        seconds: all of it, with validations, samples and checkpoints.
        warm: what the warm-up took; None while it lasts.
        warm_steps: the steps of the warm-up.
        validated: where the last validation ended.
        closing: the longest that a validation took, with checkpoint and sample.
        budget: the largest one that came to its end.
        sampled: where the last sample ended.
        sample: what it took.
    """

    seconds: float = 0.0
    warm: float | None = None
    warm_steps: int = 0
    validated: float = 0.0
    closing: float = 0.0
    budget: float = 0.0
    sampled: float = 0.0
    sample: float = 0.0


class TimeBudget:
    """The time that a training has and what it spent; without a budget it is only measured."""

    def __init__(
        self,
        minutes: float,
        optimizer: OptimizerConfig,
        limit: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        minutes: 0 for no budget.
        optimizer: with the peak rate, the steps of warm-up and the share left at the end.
        limit: a number of steps that ends the training, too.
        clock: seconds that never go back.
        """
        self.spent = Spent()
        self._seconds = 60 * minutes
        self._optimizer = optimizer
        self._limit = limit
        self._clock = clock
        self._ticked: float | None = None  # before the start nothing counts
        self._begun = 0.0  # seconds spent when the last step began
        # In one of the last two steps the process may have been suspended: the shorter one counts.
        self._last, self._expected = math.inf, 0.0  # seconds of the last step, and of the next
        self._stepped: float | None = None  # when the last step was done, but for the first one
        self._recent = (0.0, 0.0)  # steps and seconds, those long ago counting less
        self._saved = 0.0  # seconds spent when the state was last asked for

    def start(self) -> None:
        """What comes counts; what was before, does not."""
        self._ticked = self._clock()
        self._stepped = None
        self._saved = self.spent.seconds

    def tick(self) -> None:
        """Count the time since the last tick."""
        if self._ticked is not None:
            now = self._clock()
            self.spent.seconds += now - self._ticked
            self._ticked = now

    @property
    def save_due(self) -> bool:
        """Whether a kill would by now cost more work than it may, budget or not."""
        return self.spent.seconds - self._saved >= _UNSAVED

    def saved(self) -> None:
        """The state is as it is saved."""
        self.tick()
        self._saved = self.spent.seconds

    @property
    def is_up(self) -> bool:
        """Whether there is a budget, and no room in it for a step before the last validation."""
        return self._seconds > 0 and self._left <= self._expected

    @property
    def is_closed(self) -> bool:
        """Whether the training came to its end by this budget, and not by a smaller one."""
        return 0 < self._seconds <= self.spent.budget

    def close(self) -> None:
        """The last step is done."""
        self.spent.budget = self._seconds

    def stepped(self) -> None:
        """A step is done. The first one of a sitting takes longer: the pace is that of others."""
        self.tick()
        own = self.spent.seconds - self._begun
        if self._stepped is None:
            self._expected = max(own - _SETUP, 0.0)
        else:
            self._expected, self._last = min(own, self._last), own
            took = self.spent.seconds - self._stepped
            steps, seconds = (math.exp(-took / _MEMORY) * amount for amount in self._recent)
            self._recent = (steps + 1, seconds + took)
        self._stepped = self.spent.seconds

    def validated(self, begun: float) -> None:
        """A validation that began at `begun` seconds is done, with all that follows it."""
        self.tick()
        spent, took = self.spent, self.spent.seconds - begun
        spent.closing = max(spent.closing, took) if spent.validated else took
        spent.validated = spent.seconds
        if 0 < self._seconds <= spent.seconds + spent.closing:
            self.close()  # another one has no room: its sample may have taken long

    def judged(self, begun: float) -> None:
        """A validation began at `begun` seconds: it was the last if another has no room."""
        self.tick()
        took = max(self.spent.closing, self.spent.seconds - begun)
        if 0 < self._seconds <= self.spent.seconds + took:
            self.close()

    @property
    def sample_due(self) -> bool:
        """Whether a validation is to make a sample.

        After the first one they keep to their share of a budget. Room for that of the validation
        with which a budget ends was left.
        """
        spent = self.spent
        waited = spent.seconds - spent.sampled >= spent.sample / _SHARE
        return waited or self.is_closed or not self._seconds

    def sampled(self, begun: float) -> None:
        """A sample that began at `begun` seconds is made."""
        self.tick()
        self.spent.sampled, self.spent.sample = self.spent.seconds, self.spent.seconds - begun

    @property
    def validation_due(self) -> bool:
        """Whether a share of the budget passed without validation, and another one has room.

        As long as that takes is to be left for steps before the last one.
        """
        spent = self.spent
        wait = max(self._seconds / _VALIDATIONS, spent.closing / _SHARE)
        waited = spent.seconds - spent.validated >= wait
        return self._seconds > 0 and waited and self._left > 2 * spent.closing

    def needs_look(self, steps: int) -> bool:
        """Whether so many steps take a share of the budget that matters."""
        return self._seconds > 0 and steps * self._pace > _GRAIN * self._seconds

    def total_steps(self, step: int) -> int:
        """The step at which the training will end if it goes on as it went; 0: nobody knows."""
        if not self._pace:
            return 0
        total = step if self.is_up else step + math.ceil(self._left / self._pace)
        return total if self._limit is None else min(total, self._limit)

    def learning_rate(self, step: int) -> float:
        """Of update number `step`, which begins: as `schedule.learning_rate`, by the time spent.

        Where there is a limit of steps, too, it follows whichever comes to its end earlier.
        """
        self.tick()
        optimizer, spent = self._optimizer, self.spent
        self._begun = spent.seconds
        if spent.warm is None:
            by_steps = (step + 1) / max(optimizer.warmup_steps, 1)
            warmth = max(by_steps, spent.seconds / (_WARM_UP * self._seconds))
            if warmth < 1:
                return optimizer.lr * warmth
            # Of a training that had no budget before, this is the part that was its warm-up.
            spent.warm_steps = min(step, optimizer.warmup_steps)
            spent.warm = spent.seconds * spent.warm_steps / max(step, 1)
        end = self._seconds - spent.closing
        position = (spent.seconds - spent.warm) / max(end - spent.warm, 1e-9)
        if self._limit is not None:
            steps = max(self._limit - spent.warm_steps, 1)
            position = max(position, (step - spent.warm_steps) / steps)
        return decayed(optimizer, position)

    @property
    def _left(self) -> float:
        """Seconds until the last validation has to begin."""
        return self._seconds - self.spent.closing - self.spent.seconds

    @property
    def _pace(self) -> float:
        """Seconds a step, of late; 0 as long as it is not known."""
        steps, seconds = self._recent
        return seconds / steps if steps else 0.0
