"""From gradients to new parameters: clipping, the loss scale of fp16, and the update rules."""

import inspect
import math
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from seqkit.config import OptimizerConfig, TrainConfig
from seqkit.lstm import KernelError
from seqkit.training.gpu_update import GpuUpdate
from seqkit.training.weights import TrainingWeights, require_tensors

Kind = TypeVar("Kind", bound=torch.optim.Optimizer)
_SCALE = 65536.0  # of the loss in fp16 at first; halved when a gradient overflows
_PATIENCE = 2000  # steps without an overflow after which the scale is doubled
_EXPLODED = 100.0  # times clip_norm, or times 1: a longer gradient tells nothing of the data


class OptimizerStep:
    """Updates the parameters by their gradients, with tensors only: a CUDA graph can replay it.

    Attributes:
        scale: what the loss is multiplied by before its gradient is taken: 1 except in fp16, whose
            small gradients would otherwise vanish.
        norm: of the last gradient, without the scale and before clipping.
        left_out: int32, how many updates were left out: the gradient exploded, or overflowed fp16.
    """

    def __init__(
        self,
        optimizer: OptimizerConfig,
        train: TrainConfig,
        weights: TrainingWeights,
        *,
        scaled: bool,
        gave_up: Tensor | None = None,
    ) -> None:
        """Args:
        scaled: whether the loss is scaled, as fp16 needs it.
        gave_up: not zero where nothing is to change; read on a GPU.
        """
        self._weights = weights
        self._clip_norm = train.clip_norm
        self._exploded = _EXPLODED * max(1.0, train.clip_norm) if train.clip_norm else math.inf
        self._optimizer = make_optimizer(optimizer, weights.parameters)
        self._scaled = scaled
        device = weights.flat_gradient.device
        self.norm = torch.zeros((), device=device)
        self.left_out = torch.zeros((), dtype=torch.int32, device=device)
        self.scale = torch.full((), _SCALE if scaled else 1.0, device=device)
        self._growth = torch.zeros((), dtype=torch.int32, device=device)
        self._gave_up = gave_up
        self._on_gpu = self._gpu_update()

    def _gpu_update(self) -> GpuUpdate | None:
        """The update in kernels of our own, where they run."""
        rate = self._optimizer.param_groups[0]["lr"]
        if not isinstance(rate, Tensor):
            return None
        tensors = {"rate": rate, "norm": self.norm, "scale": self.scale, "gave_up": self._gave_up}
        tensors |= {"left_out": self.left_out, "growth": self._growth if self._scaled else None}
        settings = {"clip_norm": self._clip_norm, "exploded": self._exploded}
        settings["patience"] = _PATIENCE
        try:
            return GpuUpdate(self._weights, self._optimizer, tensors, settings)
        except KernelError:  # a PyTorch without NVRTC
            return None

    def set_rate(self, rate: float) -> None:
        """Use this learning rate from now on."""
        first, *others = self._optimizer.param_groups
        if isinstance(first["lr"], Tensor):  # all groups share it
            first["lr"].fill_(rate)
            return
        for group in (first, *others):
            group["lr"] = rate

    @torch.no_grad()
    def update(self) -> None:
        """Update the parameters, and what is made from them: the weights that run, the average.

        The gradient's norm is bounded, as in Pascanu et al. (2013): that and the loss scale make up
        one divisor. Where a gradient overflowed fp16 or exploded, the parameters stay as they are:
        AdamW would take a clipped one for a direction as good as any other. NaN has not exploded:
        without a scale it shows in the parameters.
        """
        if self._on_gpu is not None:
            self._on_gpu()
            return
        self._update_by_pytorch()
        self._weights.renew()
        if self._weights.average is not None:
            self._weights.average.update()

    def _update_by_pytorch(self) -> None:
        bound = self._clip_norm
        norm = torch.linalg.vector_norm(self._weights.flat_gradient)
        torch.div(norm, self.scale, out=self.norm)
        overflow = None
        if self._scaled:  # 1 if the norm is not finite, in fewer kernels than isfinite takes
            overflow = norm.clamp(max=torch.finfo(norm.dtype).max).ne(norm).to(norm.dtype)
        skipped = overflow
        if bound:
            exploded = norm.gt(self._exploded * self.scale).to(norm.dtype)
            skipped = exploded if overflow is None else torch.maximum(exploded, overflow)
        if skipped is not None:
            self.left_out += skipped.to(self.left_out.dtype)
        divisor = torch.maximum(self.scale, norm / bound) if bound else self.scale
        # PyTorch's own loss scaler hands them to a fused optimizer in the same way.
        self._optimizer.grad_scale = divisor  # type: ignore[attr-defined]
        self._optimizer.found_inf = skipped  # type: ignore[attr-defined]
        self._optimizer.step()
        if overflow is not None:
            self._adapt_scale(overflow.bool())

    def _adapt_scale(self, overflow: Tensor) -> None:
        """Halve the scale after an overflow, and double it after enough steps without one."""
        self._growth.add_(1).masked_fill_(overflow, 0)
        is_long = self._growth == _PATIENCE
        self._growth.masked_fill_(is_long, 0)
        wanted = self.scale * torch.where(overflow, 0.5, torch.where(is_long, 2.0, 1.0))
        self.scale.copy_(torch.where(wanted.isfinite(), wanted, self.scale))
        self.scale.clamp_(min=1)  # what overflows without a scale is not the scale's fault

    def tensors(self) -> dict[str, Tensor]:
        """All that an update changes beside the parameters."""
        return self.moments() | self._scaling() | {"left_out": self.left_out}

    def _scaling(self) -> dict[str, Tensor]:
        return {"scale": self.scale, "growth": self._growth}

    def moments(self) -> dict[str, Tensor]:
        """What the update rule remembers of earlier gradients."""
        return {
            f"optimizer.{index}.{name}": values
            for index, moments in self._optimizer.state_dict()["state"].items()
            for name, values in moments.items()
            if values is not None  # SGD without momentum
        }

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint keeps: `tensors`, but no scale of 1, and no count of 0."""
        scaling = self._scaling() if self._scaled else {}
        left_out = {"left_out": self.left_out} if self.left_out else {}
        return self.moments() | scaling | left_out

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on from what `state` returned; tensors of others are passed over.

        Raises:
            ValueError: it belongs to another model or update rule, or is not whole.
        """
        scaling = self._scaling() if self._scaled else {}
        if not scaling.keys() & tensors.keys():  # it ran in another precision before
            scaling = {}
        left_out = {"left_out": self.left_out} if "left_out" in tensors else {}
        require_tensors(tensors, scaling | left_out)
        for name, kept in (self._moments_in(tensors) | scaling | left_out).items():
            kept.copy_(tensors[name])

    def _moments_in(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """The own moments, all of which are among the tensors of a state.

        There are none where SGD runs with momentum, and ran without, or the other way round.

        Raises:
            ValueError: one is missing, one too many, or of another shape or dtype.
        """
        wanted = self.moments()
        saved = {name: tensor for name, tensor in tensors.items() if name.startswith("optimizer.")}
        if isinstance(self._optimizer, torch.optim.SGD) and not (saved and wanted):
            return {}
        require_tensors(saved, wanted)
        if others := saved.keys() - wanted.keys():
            raise ValueError(f"{min(others)} belongs to no weights of this network")
        return wanted


def make_optimizer(config: OptimizerConfig, parameters: list[Tensor]) -> torch.optim.Optimizer:
    """AdamW, or SGD with momentum; only the matrices decay.

    The moments are there from the beginning, as zeros.
    """
    device = parameters[0].device
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0},
    ]
    # A CUDA graph reads the rate from the device.
    rate = torch.tensor(config.lr, device=device) if device.type == "cuda" else config.lr
    if config.kind == "sgd":
        sgd = _uncompiled(torch.optim.SGD)(groups, lr=rate, momentum=config.momentum, fused=True)
        if config.momentum:
            # If the very first update is skipped, SGD would keep whatever is in fresh memory.
            sgd.state.update({p: {"momentum_buffer": torch.zeros_like(p)} for p in parameters})
        return sgd
    adam = _uncompiled(torch.optim.AdamW)(
        groups,
        lr=rate,
        betas=(config.beta1, config.beta2),
        fused=True,
        capturable=device.type == "cuda",
    )
    for parameter in parameters:
        means = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
        adam.state[parameter] = {"step": torch.zeros((), device=device)} | means
    return adam


def _uncompiled(kind: type[Kind]) -> type[Kind]:
    """A kind of optimizer without what PyTorch wraps around its methods for torch.compile.

    The first call of a wrapped one imports all of that, for two seconds, and nothing is compiled.
    """
    guarded = ("add_param_group", "state_dict", "step")
    plain = {name: inspect.unwrap(getattr(kind, name)) for name in guarded}
    return cast(type[Kind], type(kind.__name__, (kind,), plain))
