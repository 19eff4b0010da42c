"""The training loop: it computes and yields events, and neither prints nor writes."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from seqkit.config import OptimizerConfig, TrainConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.errors import CheckpointError, DivergedError
from seqkit.evaluation import protocols, scoring
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.training.events import CheckpointDue, Event, SampleDue, Stepped, Trained, Validated
from seqkit.training.schedule import learning_rate
from seqkit.training.step import TrainingStep

_REPORT_EVERY = 10  # steps between reports; reading a loss back makes a GPU wait
_RELEASE_EVERY = 20  # steps after which memory-mapped data that was read is released


@dataclass
class Progress:
    """How far a training has come; a checkpoint keeps it beside the tensors."""

    step: int = 0
    symbols: int = 0
    seconds: float = 0.0
    reported_symbols: int = 0
    reported_seconds: float = 0.0
    best_loss: float | None = None
    best_step: int = 0
    without_improvement: int = 0


class Trainer:
    """Truncated backpropagation through time over contiguous lanes, with carried state.

    `model` has the weights that train, `evaluation_model()` those that evaluation sees.
    """

    def __init__(
        self,
        *,
        model: CharRNN,
        lanes: Lanes,
        validation: Part,
        start: int,
        optimizer: OptimizerConfig,
        train: TrainConfig,
        seed: int,
        execution: Execution,
    ) -> None:
        """Args:
        model: on its device.
        lanes: the training part.
        validation: the validation part; empty for none.
        start: the codec's start symbol.
        seed: of the dropout masks.
        execution: how the network runs.
        """
        self.model = model
        self.progress = Progress()
        self._lanes = lanes
        self._validation = validation
        self._start = start
        self._config = train
        self._optimizer = optimizer
        self._execution = execution
        self._step = TrainingStep(
            model=model,
            lanes=lanes,
            optimizer=optimizer,
            train=train,
            seed=seed,
            execution=execution,
        )

    @property
    def total_steps(self) -> int:
        """The step at which the training ends at the latest."""
        if self._config.max_epochs:
            return min(self._config.max_steps, self._config.max_epochs * self._lanes.steps)
        return self._config.max_steps

    @property
    def finished(self) -> bool:
        """Whether all steps are done, or patience has run out."""
        patience = self._config.patience
        spent = patience > 0 and self.progress.without_improvement >= patience
        return spent or self.progress.step >= self.total_steps

    def run(self) -> Iterator[Event]:
        """Train to the end, yielding events; the caller may stop after any `Stepped`.

        Raises:
            DivergedError: the loss is no longer finite.
        """
        progress, every = self.progress, self._config.validate_every
        while not self.finished:
            begun = time.perf_counter()
            self.update()
            last = progress.step >= self.total_steps
            report = last or progress.step == 1 or progress.step % _REPORT_EVERY == 0
            validate = last or (every > 0 and progress.step % every == 0)
            save = self._config.checkpoint_every
            due = save > 0 and progress.step % save == 0
            if report or validate or due:
                loss = self._mean_loss()  # waits for the device: the clock is read after it
            progress.seconds += time.perf_counter() - begun
            if report or validate or due:
                yield self._report(loss)
            if validate and len(self._validation):
                yield self._validate()
            if validate or due:
                yield CheckpointDue(progress.step)
            if validate and len(self._validation):
                yield SampleDue(progress.step)
            yield Stepped(progress.step)

    def evaluation_model(self) -> CharRNN:
        """The model as evaluation sees it: for validation, samples and the best checkpoint."""
        return self._step.weights.evaluation_model()

    def prepare(self) -> str | None:
        """Record the update as a CUDA graph; returns the reason if that is not possible.

        Without a graph, operations are launched one by one: the same numbers, more slowly.
        """
        if self.model.head.weight.device.type != "cuda":
            return None
        if self._execution.kernel == "unrolled":
            return "model.backend=unrolled runs step by step, without a CUDA graph"
        if self._lanes.has_separators and not self.model.config.resets_in_one_call:
            return "calls that are cut where documents begin run without a CUDA graph"
        try:
            self._step.capture()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            return f"no CUDA graph, the operations are launched one by one: {error}"
        return None

    def update(self) -> None:
        """One step: batch, forward, loss, backward, clip, and the update of the weights."""
        progress = self.progress
        rate = learning_rate(self._optimizer, progress.step, self.total_steps)
        progress.symbols += self._step.run(progress.step, rate)
        progress.step += 1
        if progress.step % _RELEASE_EVERY == 0:
            self._lanes.release()

    def _mean_loss(self) -> float:
        """The mean loss since the last report, checked to be finite."""
        progress = self.progress
        loss = self._step.take_nats() / max(progress.symbols - progress.reported_symbols, 1)
        if not math.isfinite(loss):
            raise DivergedError(
                f"the loss is {loss} at step {progress.step}: the training diverged; "
                "try a smaller optimizer.lr or train.clip_norm"
            )
        return loss

    def _report(self, loss: float) -> Trained:
        progress = self.progress
        seconds = progress.seconds - progress.reported_seconds
        rate = (progress.symbols - progress.reported_symbols) / max(seconds, 1e-9)
        progress.reported_symbols, progress.reported_seconds = progress.symbols, progress.seconds
        norm = self._step.gradient_norm
        return Trained(
            *(progress.step, progress.symbols, progress.seconds, loss, rate),
            gradient_norm=norm if math.isfinite(norm) else None,
        )

    def _validate(self) -> Validated:
        progress = self.progress
        score = scoring.evaluate(
            self.evaluation_model(),
            self._validation,
            start=self._start,
            segments=protocols.warmed(self._validation),
            precision=self._execution.precision,
        )
        if not math.isfinite(score.loss):
            raise DivergedError(
                f"the validation loss is {score.loss} at step {progress.step}: "
                "try a smaller optimizer.lr or train.clip_norm"
            )
        improved = progress.best_loss is None or score.loss < progress.best_loss
        if improved:
            progress.best_loss, progress.best_step = score.loss, progress.step
        progress.without_improvement = 0 if improved else progress.without_improvement + 1
        return Validated(
            step=progress.step,
            seconds=progress.seconds,
            loss=score.loss,
            bits_per_symbol=score.bits_per_symbol,
            improved=improved,
            best_loss=min(score.loss, progress.best_loss or score.loss),
        )

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Everything beside the weights that the next step depends on: JSON values and tensors.

        Raises:
            DivergedError: the weights are not finite, so not worth keeping.
        """
        if not all(bool(p.isfinite().all()) for p in self.model.parameters()):
            raise DivergedError(
                f"the weights are not finite at step {self.progress.step}: the training diverged; "
                "try a smaller optimizer.lr or train.clip_norm"
            )
        values = {"progress": vars(self.progress), "execution": self._execution.to_record()}
        return values, self._step.state()

    def restore(self, values: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Go on from what `state` returned; the weights are restored by the caller.

        Raises:
            CheckpointError: the state belongs to another model or batch size.
        """
        try:
            self._step.restore(tensors)
            self.progress = Progress(**values["progress"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(f"the training state does not fit this run: {error}") from error


def saved_execution(values: dict[str, Any] | None) -> Execution | None:
    """The execution in the values that a trainer's `state` returned, or 0.1.0's, if any."""
    values = values or {}
    record: Any = values.get("execution", values.get("plan"))
    try:
        return Execution.from_record(record)
    except (TypeError, ValueError):
        return None
