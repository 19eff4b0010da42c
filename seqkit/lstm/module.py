"""`LSTM`: PyTorch's module, by the persistent kernels where they are faster: docs/how/layer.md."""

import functools
import itertools
import statistics
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch._compile import _disable_dynamo
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from seqkit.lstm.cells import LayerWeights
from seqkit.lstm.graph import milliseconds
from seqkit.lstm.launch import LayerKernels
from seqkit.lstm.layers import PERSISTENT, Layers
from seqkit.lstm.nvrtc import KernelError

State = tuple[Tensor, Tensor]
"""h and c, each (L, B, H)."""

_OURS = (torch.float16, torch.bfloat16)  # in which our kernels run
_CAST = (torch.float32, *_OURS)  # what autocast turns into one of them
_GAIN = 0.95  # our kernels have to take less of cuDNN's time, so that noise does not choose
_TURNS, _WARM, _MILLISECONDS = 3, 2, 30.0  # of a trial: turns, calls before each, its length


class LSTM(nn.LSTM):
    """`torch.nn.LSTM`, run by kernels of our own where they are faster.

    Arguments, weights, outputs and `state_dict` are those of `torch.nn.LSTM`, of one direction and
    without projections. Where a GPU computes in 16 bits, by autocast or with weights of float16 or
    bfloat16, the first call of each shape times both ways for some tenths of a second, and the
    faster runs from then on. All else is PyTorch's own call: CPUs, 32 and 64 bits, packed
    sequences, inputs of two dimensions, exports and traces, and sizes that the kernels do not
    take (docs/how/kernel.md). Its gradients cannot be differentiated again.
    """

    _flat_weights: list[Tensor]  # type: ignore[assignment]

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

        `kernel`: `auto` takes the faster one, `cudnn` is always PyTorch's call, and `persistent` is
        always the kernels of our own where the call is in 16 bits on a GPU.

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
        self._shapes = [part.shape for part in self._flat_weights]

    @_disable_dynamo  # torch.compiler.disable, but the first call imports the compiler, not this
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
        ours = self.kernel != "cudnn" and not _is_followed()
        if ours and isinstance(input, Tensor) and input.is_cuda:
            autocast = torch.is_autocast_enabled("cuda") and input.dtype in _CAST
            dtype = torch.get_autocast_dtype("cuda") if autocast else input.dtype
            if kernel := self._kernel(dtype, input, hx, resets is not None):
                return self._run(kernel, input.to(dtype), hx, resets)
        if resets is None:
            return super().forward(input, hx)
        return self._in_windows(cast(Tensor, input), hx, resets)

    def _kernel(self, dtype: torch.dtype, x: Tensor, hx: State | None, anew: bool) -> str | None:
        """Which kernel of our own runs a call in a dtype; None if PyTorch's call does."""
        weights = self._flat_weights[0]
        learns = torch.is_grad_enabled() and (weights.requires_grad or x.requires_grad)
        dropout = self.dropout if self.training else 0.0
        sizes = self.hidden_size, self.num_layers, self.bias, self.batch_first, dropout
        # All that the time of a call depends on.
        call = self.kernel, x.shape, x.device, dtype, weights.dtype, *sizes, learns, anew
        choices = _choices()
        kernel = choices.get(call, "")
        if kernel is None or dtype not in _OURS or x.dim() != 3 or not x.numel():
            return None
        self._update_flat_weights()
        if not self._fits(dtype, x, hx):
            return None  # PyTorch takes it, or says why not
        if kernel == "":
            if torch.cuda.is_current_stream_capturing():
                if self.kernel == "auto":
                    return None
                raise KernelError("call the layer once at this shape before it is captured")
            kernel = choices[call] = self._chosen(dtype, x, learns, anew)
        return kernel

    def _fits(self, dtype: torch.dtype, x: Tensor, hx: State | None) -> bool:
        """Whether all tensors have the shapes, devices and dtypes that they should have."""
        weights, state = self._flat_weights, [] if hx is None else [*hx]
        size = self.num_layers, x.shape[0 if self.batch_first else 1], self.hidden_size
        tensors = [x, *weights, *state]
        dtypes = {part.dtype for part in tensors}
        return (
            x.shape[-1] == self.input_size
            and [part.shape for part in weights] == self._shapes
            and all(part.shape == size for part in state)
            and {part.device for part in tensors} == {x.device}
            and (dtypes <= {*_CAST} if torch.is_autocast_enabled("cuda") else dtypes == {dtype})
        )

    def _chosen(self, dtype: torch.dtype, x: Tensor, learns: bool, anew: bool) -> str | None:
        """The kernel of our own for a call, or None where PyTorch's takes about as long or less."""
        hidden, lanes = self.hidden_size, x.shape[0 if self.batch_first else 1]
        refusal: str | None = f"H is no multiple of 64 up to {PERSISTENT['grid']}"
        for name, widest in PERSISTENT.items():
            if hidden % 64 or hidden > widest:
                continue
            refusal = LayerKernels(x.device, hidden, dtype, name == "grid", anew).refusal(lanes)
            if refusal:
                continue
            if self.kernel == "persistent":
                return name
            # In a thread of its own, which has none of this one's hooks, modes and autocast.
            with ThreadPoolExecutor(1) as pool:
                trial = pool.submit(self._is_faster, dtype, x, learns, anew)
                return name if trial.result() else None
        if self.kernel == "persistent":
            raise KernelError(f"the persistent kernel does not run here: {refusal}")
        return None

    def _is_faster(self, dtype: torch.dtype, x: Tensor, learns: bool, anew: bool) -> bool:
        """Time a kernel of our own and PyTorch's call in turns, on weights that have no hooks."""
        device, weights = x.device, self._flat_weights[0].dtype
        sizes = self.input_size, self.hidden_size, self.num_layers, self.bias, self.batch_first
        dropout = self.dropout if self.training else 0.0
        times: dict[str, list[float]] = {"persistent": [], "cudnn": []}
        with torch.cuda.device(device), torch.random.fork_rng([device]):
            layer = LSTM(*sizes, dropout, device=device, dtype=weights)
            x = torch.randn_like(x, dtype=weights)
            resets = torch.zeros_like(x[..., 0], dtype=torch.bool) if anew else None

            def run() -> None:
                with torch.set_grad_enabled(learns):
                    with torch.autocast("cuda", dtype, enabled=weights != dtype):
                        y, _ = layer(x, resets=resets)
                    if learns:
                        torch.autograd.grad(y, [*layer.parameters()], torch.ones_like(y))

            try:
                for kernel, found in [*times.items()] * _TURNS:
                    layer.kernel = kernel
                    warm = milliseconds(run, _WARM, device)[-1]
                    count = max(1, min(20, int(_MILLISECONDS / warm)))
                    found.extend(milliseconds(run, count, device))
            except (KernelError, torch.OutOfMemoryError):
                return False
        ours, theirs = map(statistics.median, times.values())
        return ours < _GAIN * theirs

    def _run(
        self, kernel: str, x: Tensor, hx: State | None, resets: Tensor | None
    ) -> tuple[Tensor, State]:
        """The call by a kernel of our own, in the dtype of x."""
        failed = _failed(x.device)
        if failed.item():
            failed.zero_()
            raise KernelError('blocks of a kernel waited in vain, results are NaN: kernel="cudnn"')
        flat = self._flat_weights
        biases = [] if self.bias else 2 * [x.new_zeros(4 * self.hidden_size)]
        count = len(flat) // self.num_layers
        each = (flat[i : i + count] + biases for i in range(0, len(flat), count))
        weights = tuple(LayerWeights(*parts) for parts in each)
        layers = Layers("lstm", kernel, weights, failed, resets is not None).packed(False)
        if self.batch_first:
            x, resets = x.transpose(0, 1), None if resets is None else resets.T
        zeros = x.new_zeros(self.num_layers, x.shape[1], self.hidden_size)
        h, c = (part.to(x.dtype).unbind() for part in hx or (zeros, zeros))
        last = []
        for index, part in enumerate(layers.weights):
            x = F.dropout(x, self.dropout, self.training and index > 0)
            x, *after = layers.layer(part, x, h[index], c[index], resets)
            last.append(after)
        state = [torch.stack(part) if index else part[0][None] for part in zip(*last, strict=True)]
        return x.transpose(0, 1) if self.batch_first else x, (state[0], state[1])

    def _in_windows(self, input: Tensor, hx: State | None, resets: Tensor) -> tuple[Tensor, State]:
        """The call by PyTorch's, once from each step with resets to the next."""
        time = 1 if self.batch_first else 0
        x, resets = input.movedim(time, 0), resets.movedim(time, 0)
        steps = [0, *resets[1:].any(1).nonzero()[:, 0].add(1).tolist(), len(x)]
        zeros = x.new_zeros(self.num_layers, x.shape[1], self.hidden_size)
        hx, outputs = (zeros, zeros) if hx is None else hx, []
        self.check_forward_args(input, hx, None)  # what follows would stretch one lane to all
        for begin, end in itertools.pairwise(steps):
            over = resets[begin : begin + 1].any(0)[:, None]
            hx = hx[0].masked_fill(over, 0), hx[1].masked_fill(over, 0)
            y, hx = super().forward(x[begin:end].movedim(0, time), hx)
            outputs.append(y)
        return torch.cat(outputs, time), hx


def _is_followed() -> bool:
    """Whether an export, a trace or torch.func follows a call; none knows kernels of our own."""
    recorded = torch.compiler.is_exporting() or torch._C._get_tracing_state() is not None
    return recorded or torch._C._are_functorch_transforms_active()


def _check(resets: Tensor, input: Tensor | PackedSequence) -> None:
    """Raises ValueError: resets that do not go with the input."""
    if isinstance(input, PackedSequence) or input.dim() != 3:
        raise ValueError("resets need an input of three dimensions that is not packed")
    if resets.dtype != torch.bool or resets.shape != input.shape[:2]:
        shape, wanted = tuple(resets.shape), tuple(input.shape[:2])
        raise ValueError(f"resets are {resets.dtype} of {shape}, not torch.bool of {wanted}")
    if resets.device != input.device:
        raise ValueError(f"resets are on {resets.device}, the input is on {input.device}")


@functools.cache
def _choices() -> dict[Hashable, str | None]:
    """What runs each call that there has been in this process: a kernel, or None for PyTorch."""
    return {}


@functools.cache
def _failed(device: torch.device) -> Tensor:
    """`Layers.failed` of a GPU, in the host's memory, where a look at it waits for nothing."""
    with torch.inference_mode(False):  # whose tensors can be written to in that mode alone
        return torch.zeros(1, dtype=torch.int32, pin_memory=True)
