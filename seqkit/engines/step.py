"""One step of a CharRNN on any device, from weights that are prepared once.

The same equations as the model's layers (PyTorch's: LSTM, GRU, Elman), without what a call of
nn.LSTM does again for every step: the product of a one-hot input is a row of a table, and matrices
lie as the product reads them.
"""

import torch
from torch import Tensor

from seqkit.model import CharRNN, State


class Step:
    """symbols (S,) and state in, logits (S, V) and state out, all tensors."""

    @torch.inference_mode()
    def __init__(self, model: CharRNN, size: int, dtype: torch.dtype = torch.float32) -> None:
        """`size` is the codec's: logits that the model has beyond it are left out."""
        self._cell = model.config.cell
        inputs = model.layers[0].weight_ih_l0
        table = inputs.T if model.embedding is None else model.embedding.weight @ inputs.T

        def prepared(tensor: Tensor) -> Tensor:
            return tensor.detach().to(dtype).contiguous()

        self._table = prepared(table)
        self._inputs = [prepared(layer.weight_ih_l0.T) for layer in model.layers[1:]]
        self._hidden = [prepared(layer.weight_hh_l0.T) for layer in model.layers]
        self._biases = [
            (prepared(layer.bias_ih_l0), prepared(layer.bias_hh_l0)) for layer in model.layers
        ]
        self._head = prepared(model.head.weight[:size].T)
        self._head_bias = prepared(model.head.bias[:size])

    @torch.inference_mode()
    def __call__(self, symbols: Tensor, state: State) -> tuple[Tensor, State]:
        """Logits are fp32; the state keeps its dtypes."""
        new_h, new_c = [], []
        x = self._table[symbols]
        for index, hidden in enumerate(self._hidden):
            before = state.h[index].to(hidden.dtype)
            inputs = x if index == 0 else x @ self._inputs[index - 1]
            h, c = self._advance(index, inputs, before @ hidden, before, state.c[index])
            new_h.append(h)
            new_c.append(c)
            x = h
        logits = torch.addmm(self._head_bias, x, self._head)
        return logits.float(), State(
            torch.stack(new_h).to(state.h.dtype), torch.stack(new_c).to(state.c.dtype)
        )

    def _advance(
        self, index: int, inputs: Tensor, hidden: Tensor, h: Tensor, c: Tensor
    ) -> tuple[Tensor, Tensor]:
        """New h and c (S, H) of a layer from the products of its input and of its hidden values."""
        bias_ih, bias_hh = self._biases[index]
        if inputs.is_cuda and self._cell == "lstm":
            fused = torch.ops.aten._thnn_fused_lstm_cell
            h, c, _ = fused(inputs, hidden, c.to(inputs.dtype), bias_ih, bias_hh)
            return h, c
        if self._cell == "gru":
            reset, update, new = (inputs + bias_ih).chunk(3, 1)
            reset_h, update_h, new_h = (hidden + bias_hh).chunk(3, 1)
            new = torch.tanh(new + torch.sigmoid(reset + reset_h) * new_h)
            return torch.lerp(new, h, torch.sigmoid(update + update_h)), c
        sums = inputs + hidden + (bias_ih + bias_hh)
        if self._cell == "lstm":
            i, f, g, o = sums.chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            return torch.sigmoid(o) * torch.tanh(c), c
        return torch.tanh(sums) if self._cell == "rnn_tanh" else torch.relu(sums), c
