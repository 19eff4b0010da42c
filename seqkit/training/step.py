"""One training step: batch, forward, loss, backward, sum, clip, update; on a GPU one CUDA graph."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seqkit.config import OptimizerConfig, TrainConfig
from seqkit.data.lanes import Lanes, Windows
from seqkit.foundation.ranks import ALONE, Ranks
from seqkit.lstm import Execution, GraphedCall, SideStream
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import cross_entropy, require_finished
from seqkit.model.state import State
from seqkit.training.dropout_masks import DropoutMasks
from seqkit.training.input_noise import InputNoise
from seqkit.training.optimizer import OptimizerStep
from seqkit.training.weights import TrainingWeights, require_tensors

_WARM = 3  # runs before a capture: kernels are chosen, and the optimizer makes its state


@dataclass(frozen=True)
class Plan:
    """All that decides what a training step computes, beside the network and its data.

    seed: of the dropout masks and of the noise in what is read.
    execution: how the network runs.
    """

    optimizer: OptimizerConfig
    train: TrainConfig
    seed: int
    execution: Execution


class TrainingStep:
    """All tensors that a training changes, and the update that changes them.

    `weights` has the parameters, the weights that run, and the gradients.
    """

    def __init__(self, model: CharRNN, lanes: Lanes, plan: Plan, ranks: Ranks = ALONE) -> None:
        """`model` is on its device; with several processes, `lanes` shows the share of this one."""
        train, execution = plan.train, plan.execution
        self._lanes = lanes
        self._ranks = ranks
        self._device = device = model.head.weight.device
        self.weights = TrainingWeights(
            model, execution, separators=lanes.has_separators, average=train.average
        )
        self._side, network = SideStream(device), self.weights.network
        layers = replace(network.layers, side_stream=self._side)
        self._network = network._replace(layers=layers)
        # Not zero once the persistent kernel gave up; from then on nothing changes any more.
        self._gave_up = layers.failed
        scaled = execution.precision == "fp16"
        self._optimizer = OptimizerStep(
            plan.optimizer, train, self.weights, scaled=scaled, gave_up=self._gave_up
        )
        h, c, *others = model.zero_state(execution.lanes)
        self._state = State(h.to(execution.dtype), c.to(execution.dtype), *others)
        # What a recorded graph reads of the step's number.
        first = lanes.shown.start
        self._masks = DropoutMasks(model.config, train, plan.seed, device, first)
        symbols = model.config.symbols
        self._noise = InputNoise(train.input_noise, symbols, plan.seed, device, first)
        self._count = torch.ones((), device=device)
        self._nats = torch.zeros((), dtype=torch.float64, device=device)
        self._learned = self._nats, self._state  # the last step's nats, and the state after it
        self._asked = 0  # steps, and of these were made:
        self._made = torch.zeros((), dtype=torch.int64, device=device)
        self._recorded: Callable[[], None] | None = None
        self._windows = Windows(lanes, device, execution.lanes)

    def run(self, step: int, rate: float) -> int:
        """Make update number `step` with a learning rate; returns how many targets it had."""
        count = self._windows.set_step(step)
        self._optimizer.set_rate(rate)
        self._masks.set_step(step)
        self._noise.set_step(step)
        if self.weights.average is not None:
            self.weights.average.set_step(step)
        self._count.fill_(max(count, 1))
        (self._recorded or self._advance)()
        self._asked += 1
        return count

    def capture(self) -> None:
        """Record the update as one CUDA graph, which `run` then replays.

        It leaves everything that the training depends on as it was.

        Raises:
            RuntimeError: an operation of the step cannot be captured.
        """
        with self._untouched():
            self._recorded = GraphedCall(self._advance, self._device, _WARM)

    def _advance(self) -> None:
        self._learn()
        self._ranks.sum(self.weights.flat_gradient)
        if self._gave_up is not None:  # where one kernel gave up, no process makes the step
            self._ranks.max(self._gave_up)
        self._update()

    def _learn(self) -> None:
        """The gradient of this process's lanes, and their state after the step."""
        weights, masks = self.weights, self._masks
        lanes, dtype = self._state.h.shape[1], weights.leaves[-1].dtype
        with self._side.running():  # beside the window's many small kernels
            dropped = masks.weights()
            weights.drop(dropped)
            units, inputs = masks.units(lanes, dtype), masks.inputs(lanes, dtype)
        window = self._windows.current()
        state_resets = masks.state_resets(lanes)
        # Not in place: a step that cannot be made must leave the state as it was.
        fresh = window.fresh if state_resets is None else window.fresh | state_resets
        state = self._state.begun_anew(fresh)
        window = self._noise(window)
        self._side.join()
        logits, after = self._network(
            window.inputs, state, units, window.resets, inputs, window.labels
        )
        nats = cross_entropy(logits, window.targets, "sum")
        scale = self._optimizer.scale / self._count
        # Were it given to `grad`, SymPy would be imported to compare their shapes.
        nats.register_hook(lambda _: scale)  # type: ignore[no-untyped-call]
        gradients = torch.autograd.grad(nats, weights.leaves)
        self._side.join()
        weights.take_gradients(gradients, dropped)
        self._learned = nats.detach(), State(*after).detached()

    def _update(self) -> None:
        with self._side.running():  # neither changes what the other one reads
            self._keep()
        try:
            self._optimizer.update()
        finally:  # a recording that failed would tell of the open stream instead
            self._side.join()

    def _keep(self) -> None:
        """Count the step, its nats and its state, unless the kernel gave up in it or before it."""
        nats, after = self._learned
        if self._gave_up is None:
            self._nats += nats
            for kept, values in zip(self._state, after, strict=True):
                kept.copy_(values)
            return
        good = self._gave_up[0] == 0
        self._made += good
        self._nats += nats.where(good, 0)
        for kept, values in zip(self._state, after, strict=True):
            torch.where(good, values, kept, out=kept)

    @contextmanager
    def _untouched(self) -> Iterator[None]:
        """Undo whatever the block does to the training's tensors; new ones become zeros."""
        # Kept on the host: with copies on the GPU this would be the moment of most memory.
        before = {name: values.cpu() for name, values in self._tensors().items()}
        try:
            yield
        finally:
            with torch.no_grad():
                for name, values in self._tensors().items():
                    values.copy_(before[name]) if name in before else values.zero_()
            self.weights.renew()

    def _tensors(self) -> dict[str, Tensor]:
        """All that a step changes and the next one depends on."""
        tensors = {f"parameter.{n}": weight for n, weight in enumerate(self.weights.parameters)}
        tensors |= self._optimizer.tensors()
        if self.weights.average is not None:
            tensors |= self.weights.average.tensors()
        return tensors | self._carried() | {"nats": self._nats, "made": self._made}

    def _carried(self) -> dict[str, Tensor]:
        """The parts of the state that are not empty, as checkpoints call them."""
        parts = self._state._asdict().items()
        return {f"state.{name}": values for name, values in parts if values.numel()}

    def pop_loss_sum(self) -> float:
        """The nats of all targets since this was last called; it waits for the device.

        All processes have to call it, and get the same.

        Raises:
            GaveUpError: the persistent kernel gave up; no step changed anything from then on.
        """
        nats = self._nats_of_all()
        require_finished(self._gave_up)
        self._nats.zero_()
        return float(nats)

    def _nats_of_all(self) -> Tensor:
        """The sum over the processes."""
        nats = self._nats.clone()
        self._ranks.sum(nats)
        return nats

    def take_left_out(self) -> int:
        """How many updates were left out since this was last called: see `OptimizerStep.left_out`.

        It waits for the device. All processes have the same gradient, and so get the same.
        """
        left_out = int(self._optimizer.left_out)
        self._optimizer.left_out.zero_()
        return left_out

    def take_missing(self) -> int:
        """How many of the last steps were not made, because the kernel gave up in the first."""
        if self._gave_up is None:
            return 0
        done = int(self._made)
        missing, self._asked = self._asked - done, done
        return missing

    @property
    def gradient_norm(self) -> float:
        """Of the last update, before clipping; this waits for the device."""
        return float(self._optimizer.norm)

    def state(self) -> dict[str, Tensor]:
        """Everything beside the parameters that the next step depends on, of all B lanes.

        All processes have to call it, and get the same.
        """
        count = len(self._lanes.shown)
        tensors = {
            name: torch.cat(self._ranks.everyone(values[:, :count].float().cpu()), dim=1)
            for name, values in self._carried().items()
        }
        tensors["nats"] = self._nats_of_all()
        if self.weights.average is not None:
            tensors |= self.weights.average.tensors()
        return tensors | self._optimizer.state()

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on from what `state` returned, with the parameters as they now are.

        Raises:
            ValueError: it belongs to another model or batch, or is not whole.
        """
        count = self._lanes.batch_size  # of all processes
        wanted = {
            name: torch.empty(len(kept), count, kept.shape[2], dtype=torch.float32, device="meta")
            for name, kept in self._carried().items()
        }
        require_tensors(tensors, wanted | {"nats": self._nats})
        self._optimizer.restore(tensors)
        average = self.weights.average
        if average is not None and "average.0" in tensors:  # else it begins with the weights
            average.restore(tensors)
        lanes = self._lanes.shown
        for name, kept in self._carried().items():
            kept[:, : len(lanes)] = tensors[name][:, lanes.start : lanes.stop]
        # What was not reported yet is added up over the processes when it is: it counts once.
        self._nats.copy_(tensors["nats"]) if self._ranks.leads else self._nats.zero_()
        self.weights.renew()
