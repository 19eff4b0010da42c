"""One training step: batch, forward, loss, backward, clip, update; on a GPU one CUDA graph.

The parameters are kept, and updated, in fp32. Where the arithmetic is another, the network runs on
copies of them that lie in memory as the fused calls want them (`CharRNN.network`), renewed after
every update; the gradients come back to fp32 before anything is done with them.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from seqkit.config import OptimizerConfig, TrainConfig
from seqkit.data.lanes import Lanes
from seqkit.data.prefetch import Prefetcher
from seqkit.kernels.graph import Recording
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.model.loss import cross_entropy
from seqkit.model.network import State
from seqkit.model.padding import without_padding
from seqkit.randomness import dropout_keys, dropout_masks
from seqkit.training.optimizer import make_optimizer

_WARM = 3  # runs before a capture: kernels are chosen, and the optimizer makes its state
_SHARE = 4  # a corpus stays on the GPU if it takes less than this fraction of the free memory
_SCALE = 65536.0  # of the loss in fp16 at first; halved when a gradient overflows
_PATIENCE = 2000  # steps without an overflow after which the scale is doubled


class TrainingStep:
    """All tensors that a training changes, and the update that changes them."""

    def __init__(
        self,
        *,
        model: CharRNN,
        lanes: Lanes,
        optimizer: OptimizerConfig,
        train: TrainConfig,
        seed: int,
        execution: Execution,
    ) -> None:
        """`model` is on its device; `seed` is that of the dropout masks.

        Raises:
            ValueError: the execution has fewer lanes than are to be trained on.
        """
        if execution.lanes < lanes.batch_size:
            raise ValueError(f"an execution in {execution.lanes} lanes for B = {lanes.batch_size}")
        self._model = model
        self._lanes = lanes
        self._train = train
        self._seed = seed
        self._device = device = model.head.weight.device
        self._masters = model.network().tensors()
        dtype = execution.dtype
        self._network = model.leaves(
            dtype=dtype, kernel=execution.kernel, separators=lanes.has_separators
        )
        self._leaves = self._network.tensors()
        self._copied = [
            (without_padding(leaf.detach(), own), own)
            for leaf, own in zip(self._leaves, self._masters, strict=True)
            if leaf.data_ptr() != own.data_ptr()
        ]
        self._gradients = [torch.zeros_like(own) for own in self._masters]
        for own, gradient in zip(self._masters, self._gradients, strict=True):
            own.grad = gradient
        self._optimizer = make_optimizer(optimizer, self._masters, device)
        self._state = State(*(values.to(dtype) for values in model.zero_state(execution.lanes)))
        self._keys = torch.zeros(model.config.num_layers, dtype=torch.int32, device=device)
        self._clock = torch.zeros((), dtype=torch.int64, device=device)
        self._count = torch.ones((), device=device)
        self._nats = torch.zeros((), dtype=torch.float64, device=device)
        self._norm = torch.zeros((), device=device)
        self._scales = execution.precision == "fp16"
        self._scale = torch.full((), _SCALE if self._scales else 1.0, device=device)
        self._growth = torch.zeros((), dtype=torch.int32, device=device)
        self._recording: Recording | None = None
        self._prefetcher: Prefetcher | None = None
        lanes.widen(execution.lanes)
        if device.type == "cuda":
            if lanes.nbytes < torch.cuda.mem_get_info(device)[0] / _SHARE:
                lanes.move(device)
            else:
                self._prefetcher = Prefetcher(lanes, device)

    def run(self, step: int, rate: float) -> int:
        """Make update number `step` with a learning rate; returns how many targets it had."""
        count = self._lanes.count(step)
        for group in self._optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        if self._model.config.dropout:
            keys = dropout_keys(self._seed, step, len(self._keys))
            self._keys.copy_(torch.from_numpy(keys), non_blocking=True)
        self._clock.fill_(step)
        self._count.fill_(max(count, 1))
        if self._prefetcher is not None:
            self._prefetcher.load(step)
        (self._recording or self._advance)()
        if self._prefetcher is not None:
            self._prefetcher.prefetch(step + 1)
        return count

    def capture(self) -> None:
        """Record the update as one CUDA graph, which `run` then replays.

        Nothing that a training depends on is changed by it.

        Raises:
            RuntimeError: an operation of the step cannot be captured.
        """
        with self._untouched():
            self._recording = Recording(self._advance, self._device, _WARM)

    def _advance(self) -> None:
        window = self._prefetcher.window if self._prefetcher else self._lanes.window(self._clock)
        masks = None
        if rate := self._model.config.dropout:
            shape = tuple(self._state.h.shape[1:])
            masks = dropout_masks(self._keys, shape, rate, self._leaves[-1].dtype)
        self._state.reset_(window.fresh)
        logits, after = self._network(window.inputs, self._state, masks, window.resets)
        nats = cross_entropy(logits, window.targets, "sum")
        gradients = torch.autograd.grad(nats, self._leaves, self._scale / self._count)
        self._nats += nats.detach()
        for own, values in zip(self._state, after, strict=True):
            own.copy_(values.detach())
        pairs = zip(gradients, self._masters, strict=True)
        _copy(self._gradients, [without_padding(gradient, own) for gradient, own in pairs])
        self._update()
        self._renew()

    @torch.no_grad()
    def _update(self) -> None:
        """Update the parameters, with bounds on the gradient's elements and then on its norm.

        The norm's bound is Pascanu et al.'s (2013). It and the loss scale are one divisor, which
        the optimizer's kernel applies. An update whose gradient overflowed fp16 is left out.
        """
        value, bound = self._train.clip_value, self._train.clip_norm
        norm = torch.nn.utils.get_total_norm(self._gradients)
        torch.div(norm, self._scale, out=self._norm)
        overflow = None
        if self._scales:  # one if the norm is not finite, in fewer kernels than isfinite takes
            overflow = norm.clamp(max=torch.finfo(norm.dtype).max).ne(norm).to(norm.dtype)
        if value:
            for gradient in self._gradients:
                gradient.clamp_(-value * self._scale, value * self._scale)
            norm = torch.nn.utils.get_total_norm(self._gradients)
        divisor = torch.maximum(self._scale, norm / bound) if bound else self._scale
        # How PyTorch's loss scaler, too, hands them to a fused optimizer.
        self._optimizer.grad_scale = divisor  # type: ignore[attr-defined]
        self._optimizer.found_inf = overflow  # type: ignore[attr-defined]
        self._optimizer.step()
        if overflow is not None:
            torch._amp_update_scale_(self._scale, self._growth, overflow, 2.0, 0.5, _PATIENCE)

    @torch.no_grad()
    def _renew(self) -> None:
        """The copies that run, made anew from the parameters."""
        if self._copied:
            _copy([used for used, _ in self._copied], [own for _, own in self._copied])

    @contextmanager
    def _untouched(self) -> Iterator[None]:
        """Take back all that happens to the training's tensors on a GPU; new ones become zeros."""
        # Kept on the host: with copies on the GPU this would be the moment of most memory.
        before = {name: values.cpu() for name, values in self._tensors().items()}
        try:
            yield
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
        return found | {"scale": self._scale, "growth": self._growth}

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

    def state(self) -> dict[str, Tensor]:
        """Everything beside the parameters that the next step depends on."""
        lanes = self._lanes.batch_size
        tensors = {
            "state.h": self._state.h[:, :lanes].float(),
            "state.c": self._state.c[:, :lanes].float(),
            "nats": self._nats,
        }
        if self._scales:
            tensors |= {"scale": self._scale, "growth": self._growth}
        return tensors | self._moments()

    def restore(self, tensors: dict[str, Tensor]) -> None:
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
        if self._scales and "scale" in tensors:  # not if it ran in another precision before
            self._scale.copy_(tensors["scale"])
            self._growth.copy_(tensors["growth"])
        self._renew()


def _copy(targets: list[Tensor], sources: list[Tensor]) -> None:
    """Copy tensors into others, those without gaps in one kernel."""
    pairs = list(zip(targets, sources, strict=True))
    dense = [pair for pair in pairs if pair[0].is_contiguous() and pair[1].is_contiguous()]
    for target, source in pairs:
        if not (target.is_contiguous() and source.is_contiguous()):
            target.copy_(source)
    if dense:
        torch._foreach_copy_([target for target, _ in dense], [source for _, source in dense])
