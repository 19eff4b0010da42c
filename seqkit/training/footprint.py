"""The memory that a training takes, estimated from its shapes before any of it is allocated."""

from dataclasses import dataclass, replace

import torch

from seqkit.config import Config, ModelConfig
from seqkit.evaluation import scoring
from seqkit.foundation import machine
from seqkit.foundation.device import DTYPES
from seqkit.model.arrays import count_parameters
from seqkit.model.fused_calls import TENSOR_CORE, round_up

# Bytes that a CPU holds at the end of a forward pass for each unit of each layer, step and lane,
# in fp32 and in bf16. Measured: oneDNN keeps the gates of an LSTM, and its workspace, in fp32.
_UNIT_BYTES = {
    "lstm": {"fused": (54, 37), "unrolled": (56, 36)},
    "gru": {"fused": (42, 20), "unrolled": (80, 40)},
    "rnn_tanh": {"fused": (17, 7), "unrolled": (25, 14)},
    "rnn_relu": {"fused": (17, 7), "unrolled": (25, 14)},
}
# The same on a GPU, in values of the training's precision; an LSTM's is measured.
_UNIT_VALUES = {"lstm": 9, "gru": 5, "rnn_tanh": 2, "rnn_relu": 2}
_WIDE_BYTES = 14  # of oneDNN's workspace, for each input that an LSTM has beyond its hidden size
_LOGIT_BYTES = 20  # logits, their log_softmax, and the gradients of both
_LOGIT_BYTES_GPU = 10
_HEAD_VALUES = 5  # for each value from which one of several symbols of a step is predicted
_HEADER = 20_000  # bytes of a checkpoint beside its tensors, about
_SMALLER = "Try a smaller network, or a smaller train.sequence_length."


@dataclass(frozen=True)
class TrainingShape:
    """What decides how much memory a training takes, by estimates in bytes.

    They are fitted to what trainings took under Linux, with what glibc keeps of freed memory, and
    stay below it. A system that gives memory back sooner may need less.
    """

    model: ModelConfig
    moments: int
    """Values that are kept for each parameter: the optimizer's, and an average of it."""
    lanes: int
    steps: int
    """T, the steps of a window."""
    precision: str
    on_gpu: bool
    scored: int = 0
    """Symbols that a validation scores."""

    @property
    def kept(self) -> int:
        """Weights, gradients and moments, and the copies that run in a lower precision."""
        copies = 0 if self.precision == "fp32" else DTYPES[self.precision].itemsize
        return count_parameters(self.model) * (8 + 4 * self.moments + copies)

    @property
    def step(self) -> int:
        """What is kept, the activations of a window, and the gradients before they are cast."""
        lanes = round_up(self.lanes, TENSOR_CORE) if self.on_gpu else self.lanes
        gradients = DTYPES[self.precision].itemsize * count_parameters(self.model)
        return self.kept + gradients + lanes * self.steps * self._place

    @property
    def predicting(self) -> int:
        """What is kept, and what a linear prediction takes, which ends before the layers begin."""
        weights = 2 if self.model.conditions else 1  # those of the codes, and the products
        return self.kept + 4 * weights * self.lanes * self.steps * self.model.lookback

    @property
    def saved(self) -> int:
        """What a checkpoint to go on from takes: weights, moments and carried state."""
        state = 2 * self.model.num_layers * self.lanes * self.model.hidden_size
        return 4 * (count_parameters(self.model) * (1 + self.moments) + state) + _HEADER

    @property
    def saving(self) -> int:
        """The copies on the host of what is saved: all values, and the best weights."""
        return self.saved + 4 * count_parameters(self.model)

    @property
    def on_disk(self) -> int:
        """What the checkpoints take while one is saved: `best`, `last`, `previous` and `next`."""
        return 4 * count_parameters(self.model) + _HEADER + 3 * self.saved

    @property
    def most(self) -> int:
        """The most that the training's device needs at a time."""
        validation = self.kept + scoring.call_bytes(self.model, self.scored, on_gpu=self.on_gpu)
        most = max(self.step, self.predicting, validation)
        return most + (0 if self.on_gpu else self.saving)

    @property
    def _place(self) -> int:
        """Bytes for each symbol of a window and lane."""
        model, size = self.model, DTYPES[self.precision].itemsize
        logits = _LOGIT_BYTES_GPU if self.on_gpu else _LOGIT_BYTES
        head = logits * model.vocabulary_size
        if model.frame > 1:  # one-hot rows, and what the logits are made of
            tables = 1 + bool(model.lookback)
            head += size * (tables * model.vocabulary_size + _HEAD_VALUES * model.head_size)
        return -(-self._step // model.frame) + head

    @property
    def _step(self) -> int:
        """Bytes for each step of the layers and lane."""
        model, size = self.model, DTYPES[self.precision].itemsize
        units = model.num_layers * model.hidden_size
        if self.on_gpu:
            return size * (_UNIT_VALUES[model.cell] * units + model.input_width)
        calls = "unrolled" if model.backend == "unrolled" else "fused"
        unit = _UNIT_BYTES[model.cell][calls][self.precision != "fp32"]
        inputs = 2 * size * model.input_width
        if (model.cell, calls) == ("lstm", "fused"):
            inputs += _WIDE_BYTES * max(0, model.input_width - model.hidden_size)
        return unit * units + inputs


def shape_of(
    config: Config,
    model: ModelConfig,
    lanes: int,
    precision: str,
    device: torch.device,
    scored: int = 0,
) -> TrainingShape:
    """The shape of a training of `model`, which has its vocabulary_size, in B lanes.

    `scored` is how many symbols a validation scores.
    """
    moments = 2 if config.optimizer.kind == "adamw" else int(config.optimizer.momentum > 0)
    return TrainingShape(
        model=model,
        moments=moments + (config.train.average > 0),
        lanes=lanes,
        steps=config.train.sequence_length,
        precision=precision,
        on_gpu=device.type == "cuda",
        scored=scored,
    )


def require(shape: TrainingShape, device: torch.device, *, new: bool) -> str:
    """Refuse a training that cannot fit. What to try if memory does not suffice all the same.

    `new`: whether the network is; else its size is that of a checkpoint.

    Raises:
        DeviceError: with what would fit.
    """
    free = machine.free_bytes(device)
    smaller = advice(shape, free, new=new)
    machine.require(shape.most, free, "this training", smaller, device)
    if shape.on_gpu:
        on_host = machine.free_bytes(machine.HOST)
        machine.require(shape.saving, on_host, "saving this network", _SMALLER)
    return smaller


def advice(shape: TrainingShape, free: int | None, *, new: bool) -> str:
    """What fits into `free` bytes, by estimate: fewer lanes, or smaller layers if it is new."""
    lanes = machine.largest(lambda n: replace(shape, lanes=n).most, free, below=shape.lanes)
    width = 0
    if new:
        model = shape.model
        width = machine.largest(
            lambda n: replace(shape, model=replace(model, hidden_size=n)).most,
            free,
            below=model.hidden_size,
        )
    keys = [f"train.batch_size={lanes}"] if lanes else []
    keys += [f"model.hidden_size={width}"] if width else []
    return f"By estimate {' or '.join(keys)} fits." if keys else _SMALLER
