"""The training loop: it computes and yields events; it prints nothing and writes no file."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from seqkit import evaluation
from seqkit.config import OptimizerConfig, TrainConfig
from seqkit.corpus import Lanes, Part
from seqkit.device import mixed_precision
from seqkit.errors import CheckpointError, DivergedError
from seqkit.model import CharRNN, DropoutKey, State, cross_entropy

_REPORT_EVERY = 10  # steps between reports; reading a loss back makes a GPU wait


@dataclass(frozen=True)
class Stepped:
    """One update is done, and all that was due after it: the moment to stop at."""

    step: int


@dataclass(frozen=True)
class Trained:
    """The mean loss (nats per symbol) of the updates since the last such event."""

    step: int
    symbols: int
    seconds: float
    loss: float
    symbols_per_second: float


@dataclass(frozen=True)
class Validated:
    """The loss on the whole validation part; `improved` if it is the best so far."""

    step: int
    seconds: float
    loss: float
    bits_per_symbol: float
    improved: bool


@dataclass(frozen=True)
class CheckpointDue:
    """A good moment to save."""

    step: int


Event = Stepped | Trained | Validated | CheckpointDue


@dataclass
class Progress:
    """Where a training stands, beside its tensors."""

    step: int = 0
    symbols: int = 0
    seconds: float = 0.0
    reported_symbols: int = 0
    reported_seconds: float = 0.0
    best_loss: float | None = None
    best_step: int = 0
    without_improvement: int = 0


class Trainer:
    """Truncated backpropagation through time over contiguous lanes, with carried state."""

    def __init__(
        self,
        model: CharRNN,
        lanes: Lanes,
        validation: Part,
        start: int,
        optimizer: OptimizerConfig,
        train: TrainConfig,
        seed: int,
        precision: str,
    ) -> None:
        """Args:
        model: on its device.
        lanes: the training part.
        validation: the validation part; empty for none.
        start: the codec's start symbol.
        seed: of the dropout masks.
        precision: fp32, bf16 or fp16.
        """
        self.model = model
        self.progress = Progress()
        self._lanes = lanes
        self._validation = validation
        self._start = start
        self._config = train
        self._schedule = optimizer
        self._seed = seed
        self._precision = precision
        self._device = model.head.weight.device
        matrices = [p for p in model.parameters() if p.dim() > 1]
        vectors = [p for p in model.parameters() if p.dim() == 1]
        groups: list[dict[str, Any]] = [
            {"params": matrices, "weight_decay": optimizer.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ]
        self._optimizer: torch.optim.Optimizer
        if optimizer.kind == "sgd":
            self._optimizer = torch.optim.SGD(
                groups, lr=optimizer.lr, momentum=optimizer.momentum, fused=True
            )
        else:
            betas = (optimizer.beta1, optimizer.beta2)
            self._optimizer = torch.optim.AdamW(groups, lr=optimizer.lr, betas=betas, fused=True)
        self._scaler = torch.amp.GradScaler(self._device.type, enabled=precision == "fp16")
        self._state = model.zero_state(lanes.batch_size)
        self._nats = torch.zeros((), dtype=torch.float64, device=self._device)

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

    def learning_rate(self, step: int) -> float:
        """Linear warm-up, then half a cosine down to `final_lr` (Loshchilov and Hutter, 2017)."""
        schedule = self._schedule
        if step < schedule.warmup_steps:
            return schedule.lr * (step + 1) / schedule.warmup_steps
        span = max(self.total_steps - schedule.warmup_steps, 1)
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, (step - schedule.warmup_steps) / span)))
        return schedule.lr * (schedule.final_lr + (1 - schedule.final_lr) * cosine)

    def run(self) -> Iterator[Event]:
        """Train to the end; the caller may stop after any `Stepped`, the last event of a step.

        Raises:
            DivergedError: the loss is not finite any more.
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
            yield Stepped(progress.step)

    def update(self) -> None:
        """One step: forward, loss, backward, clip, and the update of the weights."""
        progress = self.progress
        window = self._lanes.window(progress.step)
        inputs = torch.from_numpy(window.inputs).to(self._device)
        targets = torch.from_numpy(window.targets).to(self._device)
        fresh = torch.from_numpy(window.fresh).to(self._device)
        resets = None
        if self._lanes.has_separators:
            resets = torch.from_numpy(window.resets).to(self._device)
        state = self._state.reset(fresh)
        rate = self.learning_rate(progress.step)
        for group in self._optimizer.param_groups:
            group["lr"] = rate

        with mixed_precision(self._device, self._precision):
            dropout = DropoutKey(self._seed, progress.step)
            logits, state = self.model(inputs, state, dropout, resets)
        loss = cross_entropy(logits, targets)
        self._optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        self._clip()
        self._scaler.step(self._optimizer)
        self._scaler.update()

        self._state = State(*(values.detach() for values in state))
        self._nats += loss.detach() * window.count
        progress.step += 1
        progress.symbols += window.count

    def _clip(self) -> None:
        """Bound the gradient's elements, then its norm (Pascanu et al., 2013)."""
        value, norm = self._config.clip_value, self._config.clip_norm
        if value or norm:
            self._scaler.unscale_(self._optimizer)
        if value:
            torch.nn.utils.clip_grad_value_(self.model.parameters(), value)
        if norm:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), norm)

    def _mean_loss(self) -> float:
        """The mean loss since the last report, checked to be finite."""
        progress = self.progress
        loss = float(self._nats) / (progress.symbols - progress.reported_symbols)
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
        self._nats.zero_()
        return Trained(progress.step, progress.symbols, progress.seconds, loss, rate)

    def _validate(self) -> Validated:
        progress = self.progress
        segments = evaluation.laned(self._validation)
        score = evaluation.evaluate(
            self.model, self._validation, self._start, segments, self._precision
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
            progress.step, progress.seconds, score.loss, score.bits_per_symbol, improved
        )

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Everything beside the weights that the next step depends on: JSON values and tensors.

        Raises:
            DivergedError: the weights are not finite, and not worth keeping.
        """
        if not all(bool(p.isfinite().all()) for p in self.model.parameters()):
            raise DivergedError(
                f"the weights are not finite at step {self.progress.step}: the training diverged; "
                "try a smaller optimizer.lr or train.clip_norm"
            )
        tensors = {"state.h": self._state.h, "state.c": self._state.c, "nats": self._nats}
        for index, moments in self._optimizer.state_dict()["state"].items():
            for moment, values in moments.items():
                if values is not None:  # SGD without momentum
                    tensors[f"optimizer.{index}.{moment}"] = values
        return {"progress": vars(self.progress), "scaler": self._scaler.state_dict()}, tensors

    def restore(self, values: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Go on from what `state` returned; the weights are restored by the caller.

        Raises:
            CheckpointError: the state belongs to another model or batch size.
        """
        try:
            moments: dict[int, dict[str, Tensor]] = {}
            for name, tensor in tensors.items():
                if name.startswith("optimizer."):
                    _, index, moment = name.split(".")
                    moments.setdefault(int(index), {})[moment] = tensor
            blank = self._optimizer.state_dict()
            self._optimizer.load_state_dict({**blank, "state": moments})
            state = State(tensors["state.h"], tensors["state.c"])
            if state.h.shape != self._state.h.shape or state.c.shape != self._state.c.shape:
                raise ValueError(
                    f"carried state (L, B, H) is {tuple(state.h.shape)}, "
                    f"this run's {tuple(self._state.h.shape)}"
                )
            self._state = State(state.h.to(self._device), state.c.to(self._device))
            self._nats = tensors["nats"].to(self._device)
            if self._scaler.is_enabled() and values["scaler"]:
                self._scaler.load_state_dict(values["scaler"])
            self.progress = Progress(**values["progress"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(f"the training state does not fit this run: {error}") from error
