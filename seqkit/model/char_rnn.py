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

from seqkit.config import ModelConfig
from seqkit.model import cells
from seqkit.model.cells import Outputs, Weights
from seqkit.symbols import IGNORED

_FEW = 1024  # symbols
_TILE = 8  # tensor cores want the sides of a matrix in multiples of this
_NEVER = -10_000.0  # a logit that takes no share in any float format


class State(NamedTuple):
    """What the network remembers: hidden and cell values, each (L, B, H).

    Cells other than the LSTM have no cell values; c is zeros there.
    """

    h: Tensor
    c: Tensor

    def reset_(self, fresh: Tensor) -> None:
        """Zero the lanes in which `fresh` (B,) is true, in place."""
        for values in self:
            values.masked_fill_(fresh[:, None], 0)


class Network(NamedTuple):
    """The tensors of a CharRNN in the dtype and layout they run in, and the function they make.

    `one_call`: the layers' weights are packed for one call of the whole stack. What is packed has
    more rows or columns than the parameter; those of the parameter come first.
    """

    config: ModelConfig
    embedding: Tensor | None
    layers: tuple[Weights, ...]
    head_weight: Tensor
    head_bias: Tensor
    one_call: bool = False

    def tensors(self) -> list[Tensor]:
        """All of them in one order: embedding, layers from the bottom, head."""
        layers = [part for layer in self.layers for part in layer]
        embedding = [] if self.embedding is None else [self.embedding]
        return [*embedding, *layers, self.head_weight, self.head_bias]

    def with_tensors(self, tensors: list[Tensor]) -> "Network":
        """The same network with others in their places, in the order of `tensors()`."""
        *rest, head_weight, head_bias = tensors
        first = 0 if self.embedding is None else 1
        layers = [Weights(*rest[i : i + 4]) for i in range(first, len(rest), 4)]
        return self._replace(
            embedding=rest[0] if first else None,
            layers=tuple(layers),
            head_weight=head_weight,
            head_bias=head_bias,
        )

    def __call__(
        self,
        symbols: Tensor,
        state: State,
        masks: Tensor | None = None,
        resets: Tensor | None = None,
    ) -> tuple[Tensor, State]:
        """Run T steps.

        Args:
            symbols: (T, B), integers below V.
            state: h and c, (L, B, H).
            masks: (L, B, H), what the output of each layer is multiplied with at every step:
                dropout with one mask for all T (Gal and Ghahramani, 2016).
            resets: (T, B), true at separators: steps whose symbol and logits mean nothing, and
                after which the state is exactly zero.

        Returns:
            The logits (T, B, V), of the symbol that follows each input, and the state after the
            last step. A head that is packed has V rounded up; what is beyond V takes no share.

        Raises:
            ValueError: a tensor of another shape, dtype or device than is expected.
        """
        self._check(symbols, state, masks, resets)
        if self.one_call and (masks is not None or resets is not None):
            raise ValueError("one call of the whole stack takes neither masks nor resets")
        dtype = self.head_weight.dtype
        x = self._inputs(symbols, resets)
        h, c = state.h.to(dtype), state.c.to(dtype)
        if self.one_call:
            x, h, c = cells.fused_stack(self.config.cell, self.layers, x, h, c)
        else:
            x, h, c = self._layer_by_layer(x, h, c, masks, resets)
        logits = F.linear(x, self.head_weight, self.head_bias)
        return logits, State(h.to(state.h.dtype), c.to(state.c.dtype))

    def _inputs(self, symbols: Tensor, resets: Tensor | None) -> Tensor:
        """One-hot rows or embeddings of the symbols, (T, B, X)."""
        size, dtype = self.config.vocabulary_size, self.head_weight.dtype
        if self.embedding is not None and size > _FEW:
            return F.embedding(symbols, self.embedding)
        if self.embedding is None and resets is None:
            size = self.layers[0].w.shape[1]  # as wide as it is packed
        x = torch.zeros((*symbols.shape, size), dtype=dtype, device=symbols.device)
        x = x.scatter_(-1, symbols[..., None], 1)
        # For few symbols a product has a faster gradient than a look-up, and one without atomics.
        return x if self.embedding is None else x @ self.embedding

    def _layer_by_layer(
        self, x: Tensor, h: Tensor, c: Tensor, masks: Tensor | None, resets: Tensor | None
    ) -> Outputs:
        config = self.config
        last_h, last_c = [], []
        for index, weights in enumerate(self.layers):
            given = (config.cell, weights, x, h[index], c[index], resets)
            if config.backend == "unrolled":
                out = cells.unrolled(*given, config.clip)
            else:
                out = cells.fused(*given)
            x = out.y if masks is None else out.y * masks[index]
            last_h.append(out.h)
            last_c.append(out.c)
        return Outputs(x, torch.stack(last_h), torch.stack(last_c))

    def _check(
        self, symbols: Tensor, state: State, masks: Tensor | None, resets: Tensor | None
    ) -> None:
        """Say what was expected and what was given, in the letters T B H L."""
        if symbols.dim() != 2 or not symbols.numel():
            raise ValueError(f"symbols: expected (T, B), both at least 1, got {_shape(symbols)}")
        expected = (self.config.num_layers, symbols.shape[1], self.config.hidden_size)
        like = self.head_weight
        for name, values in zip("hc", state, strict=True):
            if values.shape != expected:
                raise ValueError(
                    f"state {name}: expected (L, B, H) = {expected}, got {_shape(values)}"
                )
            if values.dtype not in (like.dtype, torch.float32):
                raise ValueError(f"state {name}: expected {like.dtype}, got {values.dtype}")
            if values.device != like.device:
                raise ValueError(f"state {name}: expected on {like.device}, got {values.device}")
        if masks is not None and masks.shape != expected:
            raise ValueError(f"masks: expected (L, B, H) = {expected}, got {_shape(masks)}")
        for name, given in (("symbols", symbols), ("masks", masks), ("resets", resets)):
            if given is not None and given.device != like.device:
                raise ValueError(f"{name}: expected on {like.device}, got {given.device}")
        if resets is not None and (resets.shape != symbols.shape or resets.dtype != torch.bool):
            raise ValueError(
                f"resets: expected bool of (T, B) = {_shape(symbols)}, "
                f"got {resets.dtype} of {_shape(resets)}"
            )


def _shape(values: Tensor) -> tuple[int, ...]:
    return tuple(values.shape)


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
        self.embedding = nn.Embedding(v, config.embedding_size) if embedded else None
        self.layers = nn.ModuleList(
            cells.make_layer(config.cell, h if layer else config.input_width, h)
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

    def input_table(self) -> Tensor:
        """What every symbol adds to the gates of the bottom layer, (V, G·H), biases left out."""
        w = cells.weights_of(self.layers[0]).w
        return w.T if self.embedding is None else self.embedding.weight @ w.T

    def zero_state(self, batch_size: int) -> State:
        """The state before the first symbol, (L, B, H) of zeros."""
        shape = (self.config.num_layers, batch_size, self.config.hidden_size)
        zeros = torch.zeros(shape, dtype=torch.float32, device=self.head.weight.device)
        return State(zeros, zeros.clone())

    def network(
        self, dtype: torch.dtype | None = None, separators: bool = False, one_call: bool = False
    ) -> Network:
        """The weights as they run: in `dtype`, and packed for fused calls where that helps.

        Without arguments they are the parameters themselves. The result can be differentiated.

        Args:
            dtype: of weights and activations; by default that of the parameters.
            separators: whether resets will be given.
            one_call: run the stack in one call; not with masks or resets.
        """
        own = self.head.weight.dtype

        def cast(values: Tensor) -> Tensor:
            return values.to(dtype or own)

        layers = [Weights(*map(cast, cells.weights_of(layer))) for layer in self.layers]
        head_weight, head_bias = cast(self.head.weight), cast(self.head.bias)
        packed = (dtype or one_call) and self.head.weight.is_cuda
        if packed and (missing := -len(head_bias) % _TILE):
            head_weight = F.pad(head_weight, (0, 0, 0, missing))
            head_bias = F.pad(head_bias, (0, missing), value=_NEVER)
        if packed and self.config.backend == "cudnn":
            cell = self.config.cell
            if one_call:
                layers = cells.pack(layers, cell, False)
            else:
                separators = separators and cell == "lstm"
                layers = [cells.pack([layer], cell, separators)[0] for layer in layers]
        return Network(
            self.config,
            None if self.embedding is None else cast(self.embedding.weight),
            tuple(layers),
            head_weight,
            head_bias,
            one_call,
        )

    @torch.no_grad()
    def leaves(self, dtype: torch.dtype, separators: bool, one_call: bool) -> Network:
        """What `network` says, as tensors of their own to take gradients of.

        One that needs no copy shares its memory with the parameter.
        """
        network = self.network(dtype, separators, one_call)
        return network.with_tensors([own.detach().requires_grad_() for own in network.tensors()])

    def forward(
        self,
        symbols: Tensor,
        state: State,
        masks: Tensor | None = None,
        resets: Tensor | None = None,
    ) -> tuple[Tensor, State]:
        """What `Network` says, with the parameters as they are."""
        return self.network()(symbols, state, masks, resets)


def layer_weights(config: ModelConfig) -> int:
    """The elements of all layers' matrices w and u."""
    rows = cells.GATES[config.cell] * config.hidden_size
    return rows * (config.input_width + (2 * config.num_layers - 1) * config.hidden_size)


def cross_entropy(logits: Tensor, targets: Tensor, reduction: str = "mean") -> Tensor:
    """Nats of targets (T, B) under logits (T, B, V), in fp32: their mean, sum or (none) all (T, B).

    Targets that are `IGNORED` do not count.
    """
    shares = torch.log_softmax(logits.flatten(0, -2), -1, dtype=torch.float32)
    nats = F.nll_loss(shares, targets.flatten(), reduction="none")
    if reduction == "none":
        return nats.view(targets.shape)
    return nats.sum() if reduction == "sum" else nats.sum() / (targets != IGNORED).sum()
