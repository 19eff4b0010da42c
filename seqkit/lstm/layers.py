"""A stack of layers as it runs: by cuDNN or oneDNN, by kernels of our own, or by the equations."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqkit.lstm import cells, fused_calls
from seqkit.lstm.cells import LayerWeights, Outputs
from seqkit.lstm.execution import PERSISTENT
from seqkit.lstm.graph import SideStream
from seqkit.lstm.persistent import Setting, persistent_layer


def make_layers(cell: str, input_size: int, hidden_size: int, num_layers: int) -> nn.ModuleList:
    """PyTorch's layers, one by one, which own the parameters."""
    rnn = functools.partial(nn.RNN, nonlinearity=cell.removeprefix("rnn_"))
    kind = {"lstm": nn.LSTM, "gru": nn.GRU}.get(cell, rnn)
    sizes = [input_size] + [hidden_size] * (num_layers - 1)
    return nn.ModuleList(kind(size, hidden_size) for size in sizes)


@dataclass(frozen=True)
class Layers:
    """The weights of a stack of layers in the dtype and layout in which they run.

    Attributes:
        cell: see `cells`.
        kernel: what runs them, of `Execution`.
        weights: of each layer, from the bottom. A packed tensor may have more columns than its
            parameter; the parameter's come first.
        failed: of a persistent kernel, (1,), int32: not zero once its blocks have waited for each
            other in vain. From then on it computes NaN.
        side_stream: where the gradients of a persistent kernel's matrices are made, beside the
            rest; it has to be joined before they are used.
    """

    cell: str
    kernel: str
    weights: tuple[LayerWeights, ...]
    failed: Tensor | None = None
    side_stream: SideStream | None = None

    @classmethod
    def of(
        cls, modules: Iterable[nn.Module], cell: str, kernel: str, dtype: torch.dtype
    ) -> "Layers":
        """The parameters of `make_layers` in a dtype, not yet packed; differentiable."""
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        parts = ([getattr(module, name).to(dtype) for name in names] for module in modules)
        return cls(cell, kernel, tuple(LayerWeights(*each) for each in parts))

    def packed(self, separators: bool) -> "Layers":
        """The same layers, laid out as the kernel wants them; differentiable.

        `separators`: whether resets will be given.
        """
        layers, failed = list(self.weights), None
        if self.kernel == "stacked":
            layers = fused_calls.pack(layers, self.cell, False)
        elif self.kernel == "layerwise":
            marked = separators and self.cell == "lstm"
            layers = [fused_calls.pack([layer], self.cell, marked)[0] for layer in layers]
        elif self.kernel in PERSISTENT:
            w = layers[0].w
            if missing := -w.shape[1] % fused_calls.TENSOR_CORE:
                layers[0] = layers[0]._replace(w=F.pad(w, (0, missing)))
            failed = torch.zeros(1, dtype=torch.int32, device=w.device)
        return replace(self, weights=tuple(layers), failed=failed)

    def tensors(self) -> list[Tensor]:
        """All weights, from the bottom, of each layer w, u, b and d."""
        return [part for layer in self.weights for part in layer]

    def with_tensors(self, tensors: Sequence[Tensor]) -> "Layers":
        """The same layers with other weights, given in the order of `tensors()`."""
        starts = range(0, len(tensors), 4)
        return replace(self, weights=tuple(LayerWeights(*tensors[i : i + 4]) for i in starts))

    @property
    def input_size(self) -> int:
        """X, the width of the inputs, padding included."""
        return self.weights[0].w.shape[1]

    @property
    def reads_symbols(self) -> bool:
        """Whether the inputs may be symbols in place of their one-hot rows."""
        return self.kernel in PERSISTENT

    def __call__(
        self,
        x: Tensor,
        h: Tensor,
        c: Tensor,
        masks: Tensor | None = None,
        resets: Tensor | None = None,
    ) -> tuple[list[Tensor], Tensor, Tensor]:
        """Run T steps.

        Args:
            x: inputs (T, B, X); or symbols (T, B), int64, if it `reads_symbols`.
            h, c: the state before, (L, B, H), in any dtype.
            masks: (L, B, H), factors of each layer's outputs, the same at all T steps.
            resets: (T, B), true where the outputs and the state after the step are zero.

        Returns:
            The outputs (T, B, H) of every layer, of one call for all only the top's; and the state
            after the last step, in the dtype it came in.

        Raises:
            ValueError: one call for all layers is given masks or resets.
        """
        given, dtype = h.dtype, self.weights[0].w.dtype
        h, c = h.to(dtype), c.to(dtype)
        if not len(x):
            outputs = list(h[:, None][:, :0])
        elif self.kernel == "stacked":
            if masks is not None or resets is not None:
                raise ValueError("one call for all layers takes neither masks nor resets")
            y, h, c = fused_calls.fused_stack(self.cell, self.weights, x, h, c)
            outputs = [y]
        else:
            outputs, last = [], list[tuple[Tensor, Tensor]]()
            for index, weights in enumerate(self.weights):
                out = self._layer(weights, x, h[index], c[index], resets)
                x = out.y if masks is None else out.y * masks[index]
                outputs.append(x)
                last.append((out.h, out.c))
            h, c = map(torch.stack, zip(*last, strict=True))
        return outputs, h.to(given), c.to(given)

    def _layer(
        self, weights: LayerWeights, x: Tensor, h: Tensor, c: Tensor, resets: Tensor | None
    ) -> Outputs:
        """One layer, whose state is (B, H)."""
        if self.kernel == "unrolled":
            return cells.unrolled(self.cell, weights, x, h, c, resets=resets)
        if self.failed is None:
            return fused_calls.fused_layer(self.cell, weights, x, h, c, resets=resets)
        setting = Setting(self.kernel == "grid", self.failed, resets, self.side_stream)
        return persistent_layer(weights, x, h, c, setting)
