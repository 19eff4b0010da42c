"""One training step: batch, forward, loss, backward, clip, update; on a GPU one CUDA graph.

The parameters are kept, and updated, in fp32. Where the arithmetic is another, the network runs on
copies of them that lie in memory as the fused calls want them (`CharRNN.network`), renewed after
every update; the gradients come back to fp32 before anything is done with them.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from seqkit.config import OptimizerConfig, TrainConfig
from seqkit.device import DTYPES, Recording
from seqkit.lanes import Lanes, Window
from seqkit.model import IGNORED, CharRNN, cross_entropy
from seqkit.randomness import dropout_keys, dropout_masks

_WARM = 3  # runs before a capture: kernels are chosen, and the optimizer makes its state
_SHARE = 4  # a corpus stays on the GPU if it takes less than this fraction of the free memory


@dataclass(frozen=True)
class Plan:
    """How the network runs: its arithmetic, its calls, and as how many lanes.

    `precision` is fp32, bf16 or fp16. `one_call` runs the whole stack in one call. `lanes` is B or
    more; lanes beyond B are idle, which is faster where a kernel wants a certain number.
    """

    precision: str
    one_call: bool
    lanes: int

    def __str__(self) -> str:
        calls = "one call for all layers" if self.one_call else "one call a layer"
        return f"{self.precision}, {calls}, {self.lanes} lanes"


class Step:
    """All tensors that a training changes, and the update that changes them."""

    def __init__(
        self,
        model: CharRNN,
        lanes: Lanes,
        optimizer: OptimizerConfig,
        train: TrainConfig,
        seed: int,
        plan: Plan,
    ) -> None:
        """`model` is on its device; `seed` is that of the dropout masks.

        Raises:
            ValueError: the plan has fewer lanes than are to be trained on.
        """
        if plan.lanes < lanes.batch_size:
            raise ValueError(f"a plan of {plan.lanes} lanes for B = {lanes.batch_size}")
        self._model = model
        self._lanes = lanes
        self._train = train
        self._seed = seed
        self._device = device = model.head.weight.device
        self._plan = plan
        self._masters = model.network().tensors()
        precision = DTYPES[plan.precision]
        self._network = model.leaves(precision, lanes.has_separators, plan.one_call)
        self._leaves = self._network.tensors()
        self._copied = [
            (_without_padding(leaf.detach(), own), own)
            for leaf, own in zip(self._leaves, self._masters, strict=True)
            if leaf.data_ptr() != own.data_ptr()
        ]
        self._gradients = [torch.zeros_like(own) for own in self._masters]
        self._optimizer = _optimizer(optimizer, self._masters, device)
        self._scaler = _scaler(device, plan)
        self._state = model.zero_state(plan.lanes)
        self._keys = torch.zeros(model.config.num_layers, dtype=torch.int32, device=device)
        self._clock = torch.zeros((), dtype=torch.int64, device=device)
        self._nats = torch.zeros((), dtype=torch.float64, device=device)
        self._norm = torch.zeros((), device=device)
        self._recording: Recording | None = None
        self._staged: Window | None = None
        if device.type == "cuda":
            if lanes.nbytes < torch.cuda.mem_get_info(device)[0] / _SHARE:
                lanes.move(device)
            else:
                self._staged = lanes.window(0).to(device)

    def run(self, step: int, rate: float) -> None:
        """Make update number `step` with a learning rate."""
        for group in self._optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        if self._model.config.dropout:
            keys = dropout_keys(self._seed, step, len(self._keys))
            self._keys.copy_(torch.from_numpy(keys), non_blocking=True)
        if self._staged is not None:
            self._staged.copy_(self._lanes.window(step))
        self._clock.fill_(step)
        (self._recording or self._advance)()

    def capture(self) -> None:
        """Record the update as one CUDA graph, which `run` then replays.

        Nothing that a training depends on is changed by it.

        Raises:
            RuntimeError: an operation of the step cannot be captured.
        """
        with self._untouched():
            self._recording = Recording(self._advance, self._device, _WARM)

    def _advance(self) -> None:
        window = self._pad(self._staged or self._lanes.window(self._clock))
        masks = None
        if rate := self._model.config.dropout:
            shape = tuple(self._state.h.shape[1:])
            masks = dropout_masks(self._keys, shape, rate, self._leaves[-1].dtype)
        logits, after = self._network(
            window.inputs, self._state.reset(window.fresh), masks, window.resets
        )
        nats = cross_entropy(logits, window.targets, "sum")
        loss = nats / (window.targets != IGNORED).sum().clamp(min=1)
        gradients = torch.autograd.grad(self._scaler.scale(loss), self._leaves)
        self._collect(gradients)
        self._norm.copy_(self._clip())
        self._scaler.step(self._optimizer)
        self._scaler.update()
        self._renew()
        self._state.h.copy_(after.h.detach())
        self._state.c.copy_(after.c.detach())
        self._nats += nats.detach()

    def _pad(self, window: Window) -> Window:
        """The window with idle lanes beyond B."""
        missing = self._plan.lanes - window.inputs.shape[1]
        if not missing:
            return window
        pad = (0, missing)
        return Window(
            F.pad(window.inputs, pad),
            F.pad(window.targets, pad, value=IGNORED),
            F.pad(window.fresh, pad, value=True),
            None if window.resets is None else F.pad(window.resets, pad),
        )

    def _collect(self, gradients: tuple[Tensor, ...]) -> None:
        """The gradients of what ran, in fp32, as those of the parameters."""
        pairs = zip(gradients, self._masters, strict=True)
        _copy(self._gradients, [_without_padding(gradient, own) for gradient, own in pairs])
        for own, gradient in zip(self._masters, self._gradients, strict=True):
            own.grad = gradient

    @torch.no_grad()
    def _renew(self) -> None:
        """The copies that run, made anew from the parameters."""
        if self._copied:
            _copy([used for used, _ in self._copied], [own for _, own in self._copied])

    def _clip(self) -> Tensor:
        """Bound the gradient's elements, then its norm (Pascanu et al., 2013), which it returns."""
        value, norm = self._train.clip_value, self._train.clip_norm
        self._scaler.unscale_(self._optimizer)
        if value:
            torch.nn.utils.clip_grad_value_(self._masters, value)
        return torch.nn.utils.clip_grad_norm_(self._masters, norm or math.inf)

    @contextmanager
    def _untouched(self) -> Iterator[None]:
        """Take back all that happens to the training's tensors; new ones become zeros."""
        before = {name: values.clone() for name, values in self._tensors().items()}
        try:
            yield
        except RuntimeError:
            # A scaler that was left in the midst of a step would refuse the next one.
            self._scaler = _scaler(self._device, self._plan)
            raise
        finally:
            with torch.no_grad():
                for name, values in self._tensors().items():
                    values.copy_(before[name]) if name in before else values.zero_()
            self._renew()

    def _tensors(self) -> dict[str, Tensor]:
        """All that a step changes and the next one depends on."""
        found = {f"parameter.{index}": own for index, own in enumerate(self._masters)}
        found |= self._moments()
        found |= {"h": self._state.h, "c": self._state.c, "nats": self._nats}
        if self._scaler.is_enabled():
            self._scaler.scale(self._nats)  # makes its tensors, if it has none yet
            assert self._scaler._scale is not None
            assert self._scaler._growth_tracker is not None
            found |= {"scale": self._scaler._scale, "growth": self._scaler._growth_tracker}
        return found

    def _moments(self) -> dict[str, Tensor]:
        return {
            f"optimizer.{index}.{name}": values
            for index, moments in self._optimizer.state_dict()["state"].items()
            for name, values in moments.items()
            if values is not None  # SGD without momentum
        }

    def take_nats(self) -> float:
        """The nats of all targets since it was last asked; this waits for the device."""
        nats = float(self._nats)
        self._nats.zero_()
        return nats

    @property
    def gradient_norm(self) -> float:
        """Of the last update, before it was clipped; this waits for the device."""
        return float(self._norm)

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Everything beside the parameters that the next step depends on."""
        lanes = self._lanes.batch_size
        tensors = {
            "state.h": self._state.h[:, :lanes],
            "state.c": self._state.c[:, :lanes],
            "nats": self._nats,
        }
        return {"scaler": self._scaler.state_dict()}, tensors | self._moments()

    def restore(self, values: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Go on from what `state` returned, with the parameters as they now are.

        Raises:
            KeyError, TypeError, ValueError, RuntimeError: it belongs to another model or batch.
        """
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            if name.startswith("optimizer."):
                _, index, moment = name.split(".")
                moments.setdefault(int(index), {})[moment] = tensor
        blank = self._optimizer.state_dict()
        rates = [group["lr"] for group in self._optimizer.param_groups]
        self._optimizer.load_state_dict({**blank, "state": moments})
        for group, rate in zip(self._optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        lanes = self._lanes.batch_size
        for name, own in (("state.h", self._state.h), ("state.c", self._state.c)):
            expected = (own.shape[0], lanes, own.shape[2])
            if tensors[name].shape != expected:
                raise ValueError(
                    f"carried state (L, B, H) is {tuple(tensors[name].shape)}, "
                    f"this run's {expected}"
                )
            own[:, :lanes] = tensors[name]
        self._nats.copy_(tensors["nats"])
        if self._scaler.is_enabled() and values["scaler"]:
            self._scaler.load_state_dict(values["scaler"])
        self._renew()


def _scaler(device: torch.device, plan: Plan) -> torch.amp.GradScaler:
    """The loss scale that keeps small gradients apart from zero in fp16."""
    return torch.amp.GradScaler(device.type, enabled=plan.precision == "fp16")


def _optimizer(
    config: OptimizerConfig, parameters: list[Tensor], device: torch.device
) -> torch.optim.Optimizer:
    """AdamW, or SGD with momentum; only the matrices decay."""
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0},
    ]
    # A CUDA graph reads the rate from the device.
    rate = torch.tensor(config.lr, device=device) if device.type == "cuda" else config.lr
    if config.kind == "sgd":
        return torch.optim.SGD(groups, lr=rate, momentum=config.momentum, fused=True)
    return torch.optim.AdamW(
        groups,
        lr=rate,
        betas=(config.beta1, config.beta2),
        fused=True,
        capturable=device.type == "cuda",
    )


def _without_padding(used: Tensor, own: Tensor) -> Tensor:
    """Of what runs, or its gradient, the columns that a parameter has."""
    return used[:, : own.shape[1]] if own.dim() == 2 else used


def _copy(targets: list[Tensor], sources: list[Tensor]) -> None:
    """Copy tensors into others, those without gaps in one kernel."""
    pairs = list(zip(targets, sources, strict=True))
    dense = [pair for pair in pairs if pair[0].is_contiguous() and pair[1].is_contiguous()]
    for target, source in pairs:
        if not (target.is_contiguous() and source.is_contiguous()):
            target.copy_(source)
    if dense:
        torch._foreach_copy_([target for target, _ in dense], [source for _, source in dense])
