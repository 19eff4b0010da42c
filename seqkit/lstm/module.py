"""`LSTM`: PyTorch's module, by the persistent kernels where they are faster: docs/how/layer.md."""

import functools
import itertools
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from seqkit.lstm.cells import LayerWeights
from seqkit.lstm.graph import milliseconds
from seqkit.lstm.launch import LayerKernels
from seqkit.lstm.layers import PERSISTENT, Layers
from seqkit.lstm.nvrtc import KernelError

State = tuple[Tensor, Tensor]
"""h and c, each (L, B, H)."""

_CAST = (torch.float32, torch.float16, torch.bfloat16)  # what autocast makes 16 bits of
_GAIN = 0.98  # our kernels have to take less of cuDNN's time, so that noise does not choose
_TURNS, _WARM, _MILLISECONDS = 3, 3, 30.0  # of a trial: turns, calls before them, a turn's length


class _Call(NamedTuple):
    """All that the time of a call depends on."""

    kernel: str
    steps: int
    lanes: int
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    device: torch.device
    dtype: torch.dtype  # in which it runs
    weights: torch.dtype
    learns: bool
    resets: bool


class LSTM(nn.LSTM):
    """`torch.nn.LSTM`, run by kernels of our own where they are faster.

    Arguments, weights, outputs and `state_dict` are those of `torch.nn.LSTM`, of one direction and
    without projections. Where a GPU computes in 16 bits, by autocast or with weights of float16 or
    bfloat16, the first call of each shape times both ways for some tenths of a second, and the
    faster runs from then on. All else is PyTorch's own call: CPUs, 32 and 64 bits, packed
    sequences, inputs of two dimensions, and sizes that the kernels do not take
    (docs/how/kernel.md). Its gradients cannot be differentiated again.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: torch.dtype | None = None,
        *,
        kernel: str = "auto",
    ) -> None:
        """A module as `torch.nn.LSTM` makes it.

        Args:
            kernel: `auto` takes the faster one, `cudnn` is always PyTorch's call, and `persistent`
                is always the kernels of our own where the call is in 16 bits on a GPU.

        Raises:
            ValueError: two directions, projections, or no such kernel.
        """
        if bidirectional or proj_size:
            raise ValueError("seqkit.lstm.LSTM has one direction and no proj_size: use nn.LSTM")
        if kernel not in (kernels := ("auto", "cudnn", "persistent")):
            raise ValueError(f"kernel={kernel!r} is none of {', '.join(kernels)}")
        sizes = input_size, hidden_size, num_layers, bias, batch_first, dropout
        super().__init__(*sizes, device=device, dtype=dtype)
        self.kernel = kernel

    def forward(  # type: ignore[override]
        self,
        input: Tensor | PackedSequence,
        hx: State | None = None,
        *,
        resets: Tensor | None = None,
    ) -> tuple[Tensor | PackedSequence, State]:
        """Run all steps.

        Args:
            input: (T, B, X), with `batch_first` (B, T, X), or whatever else nn.LSTM takes.
            hx: the state before, h and c of (L, B, H) each; zeros if none is given.
            resets: bool, (T, B), with `batch_first` (B, T): true at the steps before which the
                state of the lane is set to zero, as at the beginning of another sequence.

        Returns:
            The outputs of the top layer, laid out as the input, and the state after the last step.

        Raises:
            ValueError: resets of another shape, or with a packed or unbatched input.
            KernelError: `kernel="persistent"` cannot run this call, or a kernel gave up.
        """
        if resets is not None:
            _check(resets, input)
        if self.kernel != "cudnn" and isinstance(input, Tensor) and input.is_cuda:
            call = self._call(input, resets)
            if call is not None and (kernel := self._kernel(call, input, hx)) is not None:
                return self._persistent(kernel, call, input, hx, resets)
        if resets is None:
            return super().forward(input, hx)
        return self._in_windows(cast(Tensor, input), hx, resets)

    def _call(self, input: Tensor, resets: Tensor | None) -> _Call | None:
        """The call, if our kernels could take its input; None if they could not."""
        weights = cast(Tensor, self._flat_weights[0])
        autocast = torch.is_autocast_enabled("cuda") and input.dtype in _CAST
        dtype = torch.get_autocast_dtype("cuda") if autocast else input.dtype
        if input.dim() != 3 or not input.numel() or dtype not in _CAST[1:]:
            return None
        lanes, steps, width = input.shape if self.batch_first else input.transpose(0, 1).shape
        learns = torch.is_grad_enabled() and (weights.requires_grad or input.requires_grad)
        dropout = self.dropout if self.training else 0.0
        sizes = steps, lanes, width, self.hidden_size, self.num_layers
        kind = bool(self.bias), self.batch_first, dropout, input.device, dtype
        return _Call(self.kernel, *sizes, *kind, weights.dtype, learns, resets is not None)

    def _kernel(self, call: _Call, input: Tensor, hx: State | None) -> str | None:
        """Which kernel of our own runs the call; None if PyTorch's call does."""
        choices = _choices()
        if choices.get(call, "") is None:
            return None
        self._update_flat_weights()
        if not self._fits(call, hx):
            return None  # PyTorch takes it, or says why not
        if call not in choices:
            if torch.cuda.is_current_stream_capturing():
                if call.kernel == "auto":
                    return None
                raise KernelError("call the layer once at this shape before it is captured")
            choices[call] = _chosen(call)
        return choices[call]

    def _fits(self, call: _Call, hx: State | None) -> bool:
        """Whether weights and state have the shapes, devices and dtypes that they should have."""
        rows, hidden = 4 * call.hidden_size, call.hidden_size
        shapes = [(rows, hidden), (rows, hidden), (rows,), (rows,)][: 4 if call.bias else 2]
        shapes *= call.num_layers
        shapes[0] = rows, self.input_size
        weights = cast(list[Tensor], self._flat_weights)
        autocast = torch.is_autocast_enabled("cuda")
        state = [] if hx is None else [*hx]
        size = call.num_layers, call.lanes, hidden
        return (
            call.input_size == self.input_size
            and [part.shape for part in weights] == shapes
            and {part.dtype for part in weights} == {call.weights}
            and (call.weights in _CAST if autocast else call.weights == call.dtype)
            and all(part.shape == size for part in state)
            and all(part.dtype in (_CAST if autocast else [call.dtype]) for part in state)
            and {part.device for part in (*weights, *state)} == {call.device}
        )

    def _persistent(
        self, kernel: str, call: _Call, input: Tensor, hx: State | None, resets: Tensor | None
    ) -> tuple[Tensor, State]:
        """The call by a kernel of our own."""
        failed = _failed(call.device)
        if failed[0]:
            failed.zero_()
            raise KernelError('blocks of a kernel waited in vain, results are NaN: kernel="cudnn"')
        flat: Sequence[Tensor] = cast(list[Tensor], self._flat_weights)
        if call.weights != call.dtype:
            flat = _Cast.apply(call.dtype, *flat)
        count = 4 if call.bias else 2
        each = [tuple(flat[i : i + count]) for i in range(0, len(flat), count)]
        if not call.bias:
            zeros = flat[0].new_zeros(4 * call.hidden_size)
            each = [(*part, zeros, zeros) for part in each]
        weights = tuple(LayerWeights(*part) for part in each)
        layers = Layers("lstm", kernel, weights, failed, resets is not None).packed(False)
        x = (input.transpose(0, 1) if self.batch_first else input).to(call.dtype)
        if resets is not None and self.batch_first:
            resets = resets.T
        if hx is None:
            zeros = x.new_zeros(call.lanes, call.hidden_size)
            states = [(zeros, zeros)] * call.num_layers
        else:
            states = [*zip(*(part.to(call.dtype).unbind() for part in hx), strict=True)]
        last = []
        for index, state in enumerate(states):
            if index and call.dropout:
                x = F.dropout(x, call.dropout)
            x, *after = layers.layer(layers.weights[index], x, *state, resets)
            last.append(after)
        h, c = map(torch.stack, zip(*last, strict=True))
        return x.transpose(0, 1) if self.batch_first else x, (h, c)

    def _in_windows(self, input: Tensor, hx: State | None, resets: Tensor) -> tuple[Tensor, State]:
        """The call by PyTorch's, once from each step with resets to the next."""
        time = 1 if self.batch_first else 0
        x, resets = input.movedim(time, 0), resets.movedim(time, 0)
        steps = [0, *resets[1:].any(1).nonzero()[:, 0].add(1).tolist(), len(x)]
        if hx is None:
            h = x.new_zeros(self.num_layers, x.shape[1], self.hidden_size)
            hx = h, h
        outputs = []
        for begin, end in itertools.pairwise(steps):
            over = resets[begin, :, None]
            hx = hx[0].masked_fill(over, 0), hx[1].masked_fill(over, 0)
            y, hx = super().forward(x[begin:end].movedim(0, time), hx)
            outputs.append(y)
        return torch.cat(outputs, time), hx


class _Cast(torch.autograd.Function):
    """Weights in another dtype, by one launch, and their gradients in the first by another."""

    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *weights: Tensor) -> tuple[Tensor, ...]:
        ctx.dtype = weights[0].dtype
        return _copied(weights, dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return None, *_copied(gradients, ctx.dtype)


def _copied(parts: Sequence[Tensor], dtype: torch.dtype) -> tuple[Tensor, ...]:
    """The tensors in a dtype, one after the other in one buffer."""
    sizes = [part.numel() for part in parts]
    pieces = torch.empty(sum(sizes), dtype=dtype, device=parts[0].device).split_with_sizes(sizes)
    copies = [piece.view(part.shape) for piece, part in zip(pieces, parts, strict=True)]
    torch._foreach_copy_(copies, [*parts])
    return tuple(copies)


def _check(resets: Tensor, input: Tensor | PackedSequence) -> None:
    """Raises ValueError: resets that do not go with the input."""
    if isinstance(input, PackedSequence) or input.dim() != 3:
        raise ValueError("resets need an input of three dimensions that is not packed")
    if resets.dtype != torch.bool or resets.shape != input.shape[:2]:
        shape = tuple(input.shape[:2])
        raise ValueError(f"resets are {resets.dtype} of {tuple(resets.shape)}, not bool of {shape}")
    if resets.device != input.device:
        raise ValueError(f"resets are on {resets.device}, the input is on {input.device}")


@functools.cache
def _choices() -> dict[_Call, str | None]:
    """What runs each call that there has been in this process: a kernel, or None for PyTorch."""
    return {}


@functools.cache
def _failed(device: torch.device) -> Tensor:
    """`Layers.failed` of a GPU, in the host's memory, where a look at it waits for nothing."""
    return torch.zeros(1, dtype=torch.int32, pin_memory=True)


def _chosen(call: _Call) -> str | None:
    """The kernel of our own for a call, or None where PyTorch's takes about as long or less.

    Raises:
        KernelError: one of our own is asked for, and none runs here.
    """
    hidden, refusal = call.hidden_size, f"H is no multiple of 64 up to {PERSISTENT['grid']}"
    for name, widest in PERSISTENT.items():
        if hidden % 64 or hidden > widest:
            continue
        kernels = LayerKernels(call.device, hidden, call.dtype, name == "grid", call.resets)
        if reason := kernels.refusal(call.lanes):
            refusal = reason
            continue
        if call.kernel == "persistent":
            return name
        # In a thread of its own, which has none of this one's hooks, modes and autocast.
        with ThreadPoolExecutor(1) as pool:
            return name if pool.submit(_is_faster, name, call).result() else None
    if call.kernel == "persistent":
        raise KernelError(f"the persistent kernel does not run here: {refusal}")
    return None


def _is_faster(name: str, call: _Call) -> bool:
    """Time a kernel of our own and PyTorch's call in turns."""
    device = call.device
    times: list[list[float]] = [[], []]
    with torch.cuda.device(device), torch.random.fork_rng([device]):
        try:
            runs = [_trial(kernel, call) for kernel in (name, None)]
            warm = [milliseconds(run, _WARM, device)[-1] for run in runs]
            count = max(1, min(20, int(_MILLISECONDS / max(warm))))
            for turn in range(2 * _TURNS):
                times[turn % 2] += milliseconds(runs[turn % 2], count, device)
        except (KernelError, torch.OutOfMemoryError):
            return False
    ours, theirs = map(statistics.median, times)
    return ours < _GAIN * theirs


def _trial(kernel: str | None, call: _Call) -> Callable[[], None]:
    """The call with random weights and inputs, by a kernel of our own or by PyTorch."""
    sizes = call.input_size, call.hidden_size, call.num_layers, call.bias, call.batch_first
    layer = LSTM(*sizes, call.dropout, device=call.device, dtype=call.weights, kernel="cudnn")
    places = (call.lanes, call.steps) if call.batch_first else (call.steps, call.lanes)
    x = torch.randn(*places, call.input_size, device=call.device, dtype=call.weights)
    dy = torch.ones(*places, call.hidden_size, device=call.device, dtype=call.dtype)
    resets = torch.zeros(places, dtype=torch.bool, device=call.device) if call.resets else None

    def run() -> None:
        with torch.set_grad_enabled(call.learns):
            with torch.autocast("cuda", call.dtype, enabled=call.weights != call.dtype):
                if kernel:
                    y, _ = layer._persistent(kernel, call, x, None, resets)
                else:
                    y, _ = layer(x, resets=resets)
            if call.learns:
                torch.autograd.grad(y, [*layer.parameters()], dy)

    return run
