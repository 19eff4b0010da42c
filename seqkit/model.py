"""CharRNN: symbols in, logits out, the recurrent state handed in and out.

    x_t          = one-hot (or embedding) of symbol t
    i, f, g, o   = W_ih x_t + b_ih + W_hh h_{t-1} + b_hh        four gates of H rows each
    c_t          = sigmoid(f) * c_{t-1} + sigmoid(i) * tanh(g)
    h_t          = sigmoid(o) * tanh(c_t)                       the next layer's x_t
    logits_t     = W_head h_t + b_head                          of the top layer's h_t

The middle lines are the LSTM; the other cells, and what computes them, are in `recurrence`.
Shapes are time-major: T steps, B lanes, V symbols, H hidden units, L layers.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqkit import recurrence
from seqkit.config import ModelConfig
from seqkit.randomness import dropout_mask


class State(NamedTuple):
    """What the network remembers: hidden and cell values, each (L, B, H).

    Cells other than the LSTM have no cell values; c is zeros there.
    """

    h: Tensor
    c: Tensor

    def reset(self, fresh: Tensor) -> "State":
        """Zero the lanes in which `fresh` (B,) is true."""
        keep = (~fresh).to(self.h.dtype)[None, :, None]
        return State(self.h * keep, self.c * keep)


class DropoutKey(NamedTuple):
    """What the dropout masks of one training step are a function of."""

    seed: int
    step: int | Tensor


class CharRNN(nn.Module):
    """A stack of recurrent layers between an input coding and a linear layer.

    Nothing is remembered inside: state goes in and comes out, and dropout is drawn only where a
    key for it is given.
    """

    def __init__(self, config: ModelConfig, generator: torch.Generator | None = None) -> None:
        """Weights are uniform in ±1/sqrt(H), drawn from `generator`; an LSTM's forget bias is 1.

        The columns that a one-hot input picks from are normal with deviation 0.5: with ±1/sqrt(H)
        a symbol would hardly move the gates at first, and learning starts several times slower.

        `config.vocabulary_size` is V and must be set.
        """
        super().__init__()
        if config.vocabulary_size < 1:
            raise ValueError("a model needs a vocabulary of at least one symbol")
        self.config = config
        v, h = config.vocabulary_size, config.hidden_size
        embedded = config.input == "embedding"
        width = config.embedding_size if embedded else v
        self.embedding = nn.Embedding(v, width) if embedded else None
        self.layers = nn.ModuleList(
            recurrence.make_layer(config.cell, h if layer else width, h)
            for layer in range(config.num_layers)
        )
        self.head = nn.Linear(h, v)
        self._initialise(generator)

    @torch.no_grad()
    def _initialise(self, generator: torch.Generator | None) -> None:
        h = self.config.hidden_size
        for name, parameter in self.named_parameters():
            if name.startswith("embedding"):
                parameter.normal_(generator=generator)
            elif name == "layers.0.weight_ih_l0" and self.embedding is None:
                parameter.normal_(std=0.5, generator=generator)
            elif ".bias" in name and name.startswith("layers"):
                parameter.zero_()
                if "bias_ih" in name and self.config.cell == "lstm":
                    parameter[h : 2 * h] = 1.0  # rows i, f, g, o: the forget gate's
            else:
                parameter.uniform_(-(h**-0.5), h**-0.5, generator=generator)

    def zero_state(self, batch_size: int) -> State:
        """The state before the first symbol, (L, B, H) of zeros."""
        shape = (self.config.num_layers, batch_size, self.config.hidden_size)
        zeros = torch.zeros(shape, dtype=torch.float32, device=self.head.weight.device)
        return State(zeros, zeros.clone())

    def forward(
        self,
        symbols: Tensor,
        state: State,
        dropout: DropoutKey | None = None,
        resets: Tensor | None = None,
    ) -> tuple[Tensor, State]:
        """Run T steps.

        Args:
            symbols: (T, B), integers below V.
            state: h and c, (L, B, H).
            dropout: the key of this step's masks; without one nothing is dropped.
            resets: (T, B), true at separators: steps whose symbol and logits mean nothing, and
                after which the state is exactly zero.

        Returns:
            The logits (T, B, V), of the symbol that follows each input, and the state after the
            last step.

        Raises:
            ValueError: a tensor of another shape, dtype or device than is expected.
        """
        self._check(symbols, state, resets)
        if self.embedding is None:
            x = F.one_hot(symbols, self.config.vocabulary_size).to(self.head.weight.dtype)
        else:
            x = self.embedding(symbols)
        cell, clip = self.config.cell, self.config.cell_clip
        last_h, last_c = [], []
        for index, layer in enumerate(self.layers):
            weights = recurrence.weights_of(layer)
            if self.config.backend == "unrolled":
                x, h, c = recurrence.unrolled(cell, weights, x, *_at(state, index), resets, clip)
            else:
                x, h, c = recurrence.fused(cell, weights, x, *_at(state, index), resets)
            last_h.append(h)
            last_c.append(c)
            if dropout is not None and self.config.dropout:
                rate = self.config.dropout
                # One mask for all T steps of a window (Gal and Ghahramani, 2016).
                mask = dropout_mask(*dropout, index, tuple(x.shape[1:]), rate, x.device)
                x = x * mask.to(x.dtype)
        after = (torch.stack(values).to(state.h.dtype) for values in (last_h, last_c))
        return self.head(x), State(*after)

    def _check(self, symbols: Tensor, state: State, resets: Tensor | None) -> None:
        """Say what was expected and what was given, in the letters T B H L."""
        if symbols.dim() != 2 or not symbols.numel():
            raise ValueError(f"symbols: expected (T, B), both at least 1, got {_shape(symbols)}")
        steps, lanes = symbols.shape
        expected = (self.config.num_layers, lanes, self.config.hidden_size)
        like = self.head.weight
        for name, values in zip("hc", state, strict=True):
            if values.shape != expected:
                raise ValueError(
                    f"state {name}: expected (L, B, H) = {expected}, got {_shape(values)}"
                )
            if values.dtype != like.dtype:
                raise ValueError(f"state {name}: expected {like.dtype}, got {values.dtype}")
            if values.device != like.device:
                raise ValueError(f"state {name}: expected on {like.device}, got {values.device}")
        if resets is not None and (resets.shape != symbols.shape or resets.dtype != torch.bool):
            raise ValueError(
                f"resets: expected bool of (T, B) = {(steps, lanes)}, "
                f"got {resets.dtype} of {_shape(resets)}"
            )


def _at(state: State, layer: int) -> tuple[Tensor, Tensor]:
    return state.h[layer], state.c[layer]


def _shape(values: Tensor) -> tuple[int, ...]:
    return tuple(values.shape)


def cross_entropy(logits: Tensor, targets: Tensor, reduction: str = "mean") -> Tensor:
    """Nats of targets (T, B) under logits (T, B, V); targets of -100 do not count."""
    return F.cross_entropy(logits.flatten(0, -2).float(), targets.flatten(), reduction=reduction)
