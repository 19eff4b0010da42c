"""The learning rate of every step, and the clock of a training that is to end by it."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from seqkit.config import OptimizerConfig

_WARM_UP = 0.1  # of the minutes at most, however few steps that are
_VALIDATIONS = 5  # spread over the minutes, if steps do not bring as many
_SHARE = 0.1  # of the time: what these validations take at most
_GRAIN = 0.01  # of the minutes: the clock is looked at more often than that
_UNSAVED = 120.0  # seconds of work that a kill or a power cut may cost


def learning_rate(
    optimizer: OptimizerConfig, step: int, total_steps: float, spent: float = 0.0
) -> float:
    """Linear warm-up, then half a cosine down to 0, or constant.

    The cosine is that of Loshchilov and Hutter (2017). With a constant rate an average of the
    weights does what a decay would do (Polyak and Juditsky, 1992; Merity et al., 2018).

    Args:
        optimizer: with the peak rate and the steps of warm-up.
        step: of the update, counted from 0.
        total_steps: the step at which the rate reaches its end; infinite where only time ends it.
        spent: the share of the time that is over, if a clock ends the training: by the pace so far
            that gives the steps to come, and the warm-up takes a tenth of them at most.
    """
    warm_up = float(optimizer.warmup_steps)
    if spent:
        by_pace = (step + 1) / spent
        total_steps, warm_up = min(total_steps, by_pace), min(warm_up, _WARM_UP * by_pace)
    if step < warm_up:
        return min(optimizer.lr, optimizer.lr * (step + 1) / warm_up)
    if optimizer.schedule == "constant":
        return optimizer.lr
    position = (step - warm_up) / max(total_steps - warm_up, 1)
    return optimizer.lr * 0.5 * (1 + math.cos(math.pi * min(1.0, position)))


@dataclass
class ElapsedTime:
    """What a checkpoint keeps of the time: seconds from the first step on, stops left out.

    Attributes:
        seconds: all of it, with validations, samples and checkpoints.
        validated: where the last validation ended.
        closing: the longest that a validation took, with checkpoint and sample.
        budget: the largest one that came to its end.
    """

    seconds: float = 0.0
    validated: float = 0.0
    closing: float = 0.0
    budget: float = 0.0


class Clock:
    """The time that a training spends, and of `minutes`, if there are any, what is left.

    As much is kept free for the last validation, with its checkpoint and sample, as the longest
    one so far has taken.
    """

    def __init__(self, minutes: float, now: Callable[[], float] = time.monotonic) -> None:
        """`minutes` is 0 for no end; `now` gives seconds that never go back."""
        self.elapsed = ElapsedTime()
        self._seconds = 60 * minutes
        self._now = now
        self._ticked: float | None = None  # before the start nothing counts
        self._step: float | None = None  # seconds of the last step; the first one is no measure
        self._saved = 0.0  # seconds spent when the state was last asked for

    def start(self) -> None:
        """What comes counts; what was before, does not."""
        self._ticked = self._now()
        self._step = None
        self._saved = self.elapsed.seconds

    def tick(self) -> float:
        """Count the time since the last tick; the seconds spent."""
        if self._ticked is not None:
            now = self._now()
            self.elapsed.seconds += now - self._ticked
            self._ticked = now
        return self.elapsed.seconds

    @property
    def share(self) -> float:
        """Which share of the time for steps is over, from 0 to 1; 0 without an end."""
        if not self._seconds:
            return 0.0
        return min(1.0, self.elapsed.seconds / max(self._seconds - self.elapsed.closing, 1e-9))

    @property
    def save_due(self) -> bool:
        """Whether a kill would by now cost more work than it may."""
        return self.elapsed.seconds - self._saved >= _UNSAVED

    def saved(self) -> None:
        """The state is as it is saved."""
        self._saved = self.tick()

    def stepped(self, begun: float) -> None:
        """A step that began at `begun` seconds is done."""
        took = self.tick() - begun
        self._step = 0.0 if self._step is None else took

    @property
    def is_up(self) -> bool:
        """Whether there is an end, and no room before it for a step as long as the last one."""
        return self._seconds > 0 and self._left <= (self._step or 0.0)

    @property
    def is_budget_spent(self) -> bool:
        """Whether the training came to its end by these minutes, and not by fewer."""
        return 0 < self._seconds <= self.elapsed.budget

    def spend_budget(self) -> None:
        """The last step is done."""
        self.elapsed.budget = self._seconds

    def needs_look(self, steps: int, step: int) -> bool:
        """Whether so many steps take a share of the time that matters, by the first `step`."""
        return steps * self.elapsed.seconds > _GRAIN * self._seconds * step > 0

    @property
    def validation_due(self) -> bool:
        """Whether a fifth of the time passed without validation, and another one has room.

        As long as that takes is to be left for steps before the last one.
        """
        elapsed = self.elapsed
        wait = max(self._seconds / _VALIDATIONS, elapsed.closing / _SHARE)
        waited = elapsed.seconds - elapsed.validated >= wait
        return self._seconds > 0 and waited and self._left > 2 * elapsed.closing

    def validated(self, begun: float) -> None:
        """A validation that began at `begun` seconds is done, with all that follows it."""
        elapsed, took = self.elapsed, self.tick() - begun
        elapsed.closing = max(elapsed.closing, took) if elapsed.validated else took
        elapsed.validated = elapsed.seconds
        if self._seconds and self._left <= 0:  # another one has no room
            self.spend_budget()

    @property
    def _left(self) -> float:
        """Seconds until the last validation has to begin."""
        return self._seconds - self.elapsed.closing - self.elapsed.seconds
