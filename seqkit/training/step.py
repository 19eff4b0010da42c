"""One training step: batch, forward, loss, backward, sum, clip, update; on a GPU one CUDA graph."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
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
from seqkit.training.noise import Noise
from seqkit.training.optimizer import OptimizerStep
from seqkit.training.weights import TrainingWeights, require_tensors, restore_tensors

_WARM = 3  # runs before a capture, in which libraries choose their kernels


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
        self._ranks, self._alone = ranks, ranks.alone
        self._device = device = model.head.weight.device
        self.weights = TrainingWeights(
            model, execution, separators=lanes.has_separators, average=train.average
        )
        self._side = SideStream(device) if device.type == "cuda" else None
        self._beside = nullcontext if self._side is None else self._side.running
        network = self.weights.network
        layers = replace(network.layers, side_stream=self._side)
        self._network = network._replace(layers=layers)
        # Not zero once the persistent kernel gave up; from then on it computes NaN.
        self._gave_up = layers.failed
        scaled = execution.precision == "fp16"
        self._optimizer = OptimizerStep(plan.optimizer, train, self.weights, scaled=scaled)
        h, c, *others = model.zero_state(execution.lanes)
        self._state = State(h.to(execution.dtype), c.to(execution.dtype), *others)
        noise = Noise(model.config, train, plan.seed, device, lanes.shown.start)
        self._noise = noise if noise.used else None
        self._count = torch.ones((), device=device)  # which a recorded graph reads
        self._nats = torch.zeros((), dtype=torch.float64, device=device)
        self._recorded: Callable[[], None] | None = None
        self._windows = Windows(lanes, device, execution.lanes)

    def run(self, step: int, rate: float) -> int:
        """Make update number `step` with a learning rate; returns how many targets it had."""
        count = self._windows.set_step(step)
        self._optimizer.rate.fill_(rate)
        if self._noise is not None:
            self._noise.set_step(step)
        if self.weights.average is not None:
            self.weights.average.set_step(step)
        self._count.fill_(max(count, 1))
        (self._recorded or self._advance)()
        return count

    def capture(self) -> None:
        """Record the update as one CUDA graph, which `run` then replays.

        It leaves everything that the training depends on as it was.

        Raises RuntimeError: an operation of the step cannot be captured.
        """
        with self._untouched():
            self._recorded = GraphedCall(self._advance, self._device, _WARM)

    def _advance(self) -> None:
        nats, after = self._learn()
        if not self._alone:
            self._ranks.sum(self.weights.flat_gradient)
        with self._beside():  # the update reads nothing of it
            self._nats += nats
            for kept, values in zip(self._state, after, strict=True):
                kept.copy_(values)
        try:
            self._optimizer.update()
        finally:  # a recording that failed would tell of the open stream instead
            self._join()

    def _learn(self) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Make the gradient of this process's lanes; their nats, and their state after the step."""
        weights, noise = self.weights, self._noise
        units = inputs = dropped = None
        if noise is not None:
            lanes, dtype = self._state.h.shape[1], weights.leaves[-1].dtype
            with self._beside():  # the window's many small kernels
                dropped = noise.weights()
                weights.drop(dropped)
                units, inputs = noise.units(lanes, dtype), noise.inputs(lanes, dtype)
        window = self._windows.current()
        fresh = window.fresh if noise is None else noise.fresh(window)
        for values in self._state:
            values.masked_fill_(fresh[:, None], 0)
        if noise is not None:
            window = noise.read(window)
        self._join()
        logits, after = self._network(
            window.inputs, self._state, units, window.resets, inputs, window.labels
        )
        nats = cross_entropy(logits, window.targets, "sum")
        scale = self._optimizer.scale / self._count
        # Were it given to `grad`, SymPy would be imported to compare their shapes.
        nats.register_hook(lambda _: scale)  # type: ignore[no-untyped-call]
        gradients = torch.autograd.grad(nats, weights.leaves)
        self._join()
        weights.take_gradients(gradients, dropped)
        return nats.detach(), tuple(map(Tensor.detach, after))

    def _join(self) -> None:
        """Let what comes wait for all that runs beside it."""
        if self._side is not None:
            self._side.join()

    @contextmanager
    def _untouched(self) -> Iterator[None]:
        """Undo whatever the block does to the training's tensors."""
        # Kept on the host: with copies on the GPU this would be the moment of most memory.
        before = {name: values.cpu() for name, values in self._tensors().items()}
        try:
            yield
        finally:
            with torch.no_grad():
                for name, values in self._tensors().items():
                    values.copy_(before[name])
            self.weights.renew()

    def _tensors(self) -> dict[str, Tensor]:
        """All that a step changes and the next one depends on."""
        tensors = {f"parameter.{n}": weight for n, weight in enumerate(self.weights.parameters)}
        tensors |= self._optimizer.tensors()
        if self.weights.average is not None:
            tensors |= self.weights.average.tensors()
        return tensors | self._carried() | {"nats": self._nats}

    def _carried(self) -> dict[str, Tensor]:
        """The parts of the state that are not empty, as checkpoints call them."""
        parts = self._state._asdict().items()
        return {f"state.{name}": values for name, values in parts if values.numel()}

    def pop_loss_sum(self) -> float:
        """The nats of all targets since this was last called; it waits for the device.

        All processes have to call it, and get the same.

        Raises DeviceError: the persistent kernel gave up.
        """
        self.require_finished()
        nats = self._nats_of_all()
        self._nats.zero_()
        return float(nats)

    def require_finished(self) -> None:
        """Raise DeviceError where the persistent kernel of a process has given up.

        All processes have to call it.
        """
        if self._gave_up is not None:
            self._ranks.max(self._gave_up)
            require_finished(self._gave_up)

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

        Raises ValueError: it belongs to another model or batch, or is not whole.
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
            restore_tensors(tensors, average.tensors())
        lanes = self._lanes.shown
        for name, kept in self._carried().items():
            kept[:, : len(lanes)] = tensors[name][:, lanes.start : lanes.stop]
        # What was not reported yet is added up over the processes when it is: it counts once.
        self._nats.copy_(tensors["nats"]) if self._ranks.leads else self._nats.zero_()
        self.weights.renew()
