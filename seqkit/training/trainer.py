"""The training loop: it computes and yields events, and neither prints nor writes."""

import dataclasses
import math
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.foundation.errors import CheckpointError, ConfigError, DivergedError
from seqkit.foundation.ranks import ALONE, Ranks
from seqkit.lstm import KernelError
from seqkit.model.char_rnn import CharRNN
from seqkit.training.events import (
    CheckpointDue,
    Event,
    SampleDue,
    Stepped,
    TrainingProgress,
    read_record,
)
from seqkit.training.schedule import Clock, ElapsedTime, learning_rate
from seqkit.training.step import Plan, TrainingStep
from seqkit.training.validation import Validation

_EVERY = 10  # steps from one report to the next; reading a loss back makes a GPU wait


class Trainer:
    """Truncated backpropagation through time over contiguous lanes, with carried state.

    `model` has the weights that train; `validation.model()` gives those that were found to predict
    best, for samples and the best checkpoint. `execution` is how the network runs.
    """

    def __init__(
        self,
        model: CharRNN,
        lanes: Lanes,
        validation: Part,
        plan: Plan,
        clock: Clock | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        """`model` is on its device; with several processes, `lanes` shows the share of this one.

        All processes have to call the same methods. Without a clock they share one.
        """
        train = plan.train
        self.model = model
        self.progress = TrainingProgress()
        self._lanes, self._part, self._ranks = lanes, validation, ranks
        limits = [train.max_steps] if train.max_steps is not None else []
        self.epoch_steps = lanes.steps
        limits += [train.max_epochs * self.epoch_steps] if train.max_epochs else []
        self._limit = min(limits, default=None)  # None: only time ends the training
        now = ranks.clock if train.max_minutes else time.monotonic
        self._time = clock or Clock(train.max_minutes, now)
        self._rate = 0.0  # of the last update
        self._plan, self.execution = plan, plan.execution
        self._step = TrainingStep(model, lanes, plan, ranks)
        self.validation = Validation(
            *(validation, lanes.start, plan.execution, self._step.weights),
            calibrate=train.calibrate,
            ranks=ranks,
        )

    @property
    def total_steps(self) -> int:
        """The step at which the training ends, patience aside.

        With train.max_minutes this is a forecast by the pace so far, and 0 before there is any.
        """
        if not self._plan.train.max_minutes:
            return self._limit or 0
        if not self._time.share:
            return 0
        total = math.ceil(self.progress.step / self._time.share)
        return total if self._limit is None else min(total, self._limit)

    @property
    def elapsed(self) -> float:
        """Seconds of wall time from the first step on, with all that was done between steps."""
        return self._time.elapsed.seconds

    @property
    def finished(self) -> bool:
        """Whether all steps are done, the time is up, or patience has run out."""
        patience = self._plan.train.patience
        out_of_patience = patience > 0 and self.progress.without_improvement >= patience
        return out_of_patience or self._time.is_budget_spent or self._at_limit

    @property
    def _at_limit(self) -> bool:
        return self._limit is not None and self.progress.step >= self._limit

    def run(self) -> Iterator[Event]:
        """Train to the end, yielding events; the caller may stop after any `Stepped`.

        Raises:
            DivergedError: the loss is no longer finite, or every gradient explodes.
            DeviceError: the persistent kernel gave up; what came since the last checkpoint is lost.
        """
        progress, clock = self.progress, self._time
        clock.start()
        if self.finished and len(self._part) and progress.best_loss is None:  # with a new limit
            yield from self._validate()
        while not self.finished:
            begun = time.perf_counter()
            self.update()
            validates, saves, reports = self._due()
            if reports:
                loss = self._mean_loss()  # waits for the device: the clock is read after it
                saves = saves or self._ranks.shared(lambda: clock.save_due)
            progress.seconds += time.perf_counter() - begun
            if reports:
                norm, left_out = self._step.gradient_norm, self._step.take_left_out()
                yield progress.report(loss, self._rate, norm, left_out, self.total_steps)
            if validates:
                yield from self._validate()
            elif saves:
                yield CheckpointDue(progress.step)
            yield Stepped(progress.step)

    def _due(self) -> tuple[bool, bool, bool]:
        """Whether a validation, a checkpoint and a report follow the step."""
        train, clock, step = self._plan.train, self._time, self.progress.step
        if clock.is_up:
            clock.spend_budget()
        validates = clock.is_budget_spent or self._at_limit
        if train.validate_every:
            validates = validates or step % train.validate_every == 0 or clock.validation_due
        saves = train.checkpoint_every > 0 and step % train.checkpoint_every == 0
        saves = saves or (self._ranks.alone and clock.save_due)
        seen = step == 1 or step % _EVERY == 0 or clock.needs_look(_EVERY, step)
        return validates, saves, validates or saves or seen

    def _validate(self) -> Iterator[Event]:
        """Validate, if there is a part for it, and let that be saved and heard."""
        progress, clock, begun = self.progress, self._time, self.elapsed
        if len(self._part) > 0:
            yield self.validation.validate(progress)
        yield CheckpointDue(progress.step)
        yield SampleDue(progress.step)
        clock.validated(begun)

    def prepare(self) -> str | None:
        """Record the update as a CUDA graph; returns the reason if that is not possible.

        Without a graph, operations are launched one by one: the same numbers, more slowly.
        """
        if self.model.head.weight.device.type != "cuda":
            return None
        if self.execution.kernel == "unrolled":
            return "model.backend=unrolled runs step by step, without a CUDA graph"
        if self._lanes.has_separators and self.model.config.cell != "lstm":
            return "calls that are cut where documents begin run without a CUDA graph"
        try:
            self._step.capture()
        except (torch.OutOfMemoryError, KernelError):
            raise
        except RuntimeError as error:
            return f"no CUDA graph, the operations are launched one by one: {error}"
        return None

    def update(self) -> None:
        """One step: batch, forward, loss, backward, clip, and the update of the weights."""
        progress, begun = self.progress, self._time.tick()
        total = math.inf if self._limit is None else self._limit
        self._rate = learning_rate(self._plan.optimizer, progress.step, total, self._time.share)
        progress.symbols += self._step.run(progress.step, self._rate)
        progress.step += 1
        self._time.stepped(begun)

    def _mean_loss(self) -> float:
        """The mean loss since the last report, checked to be finite."""
        progress = self.progress
        loss = self._step.pop_loss_sum() / max(progress.symbols - progress.reported_symbols, 1)
        self._require_finite(loss, f"the loss is {loss}")
        return loss

    def _require_finite(self, number: float, said: str) -> None:
        """Raise DivergedError, which begins with what is `said`, where a number is not finite."""
        if not math.isfinite(number):
            raise DivergedError(
                f"{said} at step {self.progress.step}: the training diverged; try a smaller "
                "optimizer.lr or train.clip_norm"
            )

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Everything beside the weights that the next step depends on: JSON values and tensors.

        The next step changes the tensors. All processes have to call it; they get that of all
        lanes.

        Raises:
            DeviceError: the persistent kernel gave up.
            DivergedError: the weights are not finite, so not worth keeping.
        """
        self._step.require_finished()
        sums = [weight.detach().sum(dtype=torch.float64) for weight in self.model.parameters()]
        total = float(torch.stack(sums).sum())  # one wait for the device
        self._require_finite(total, "the weights are not finite")
        self._time.saved()
        values = {
            "progress": dataclasses.asdict(self.progress),
            "time": dataclasses.asdict(self._time.elapsed),
            "execution": dataclasses.asdict(self.execution),
            "processes": self._ranks.rank.size,
        }
        return values, self._step.state()

    def restore(self, values: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Go on from what `state` returned; the weights are restored by the caller.

        Raises CheckpointError: the state belongs to another model or batch size.
        """
        try:
            self.progress = read_record(TrainingProgress, "progress", values.get("progress"))
            self._time.elapsed = read_record(ElapsedTime, "time", values.get("time"))
            self._step.restore(tensors)
        except (ConfigError, TypeError, ValueError) as error:
            raise CheckpointError(f"the training state does not fit this run: {error}") from error
