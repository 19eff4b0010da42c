"""CharRNN: symbols and a state in, logits and the next state out.

    x_t          = one-hot (or embedding) of symbol t, and beside it, where the data has labels,
                   the embedding of those of its document
    i, f, g, o   = W_ih x_t + b_ih + W_hh h_{t-1} + b_hh        four gates of H rows each
    c_t          = sigmoid(f) * c_{t-1} + sigmoid(i) * tanh(g)
    h_t          = sigmoid(o) * tanh(c_t)                       the next layer's x_t
    logits_t     = W_head h_t + b_head                          of the top layer's h_t, or of all
                                                                layers' h_t, added up

If a step makes several symbols, `frames` has what it reads and the logits.

The middle lines are the LSTM; the other cells are in `lstm.cells`. All layers' h_t are the deep
LSTM with skip connections of Melis et al. (2018): `model.skip_connections`.
Shapes are time-major: T steps, B lanes, V symbols, H hidden units, L layers.
"""

import copy
import functools

import torch
from torch import Tensor, nn

from seqkit.config import ModelConfig
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import check_section, check_type
from seqkit.lstm import Layers, make_layers
from seqkit.model.frames import SPREAD, FrameHead, FrameWeights
from seqkit.model.network import RunnableWeights, packed_head
from seqkit.model.state import State, zero_state


class CharRNN(nn.Module):
    """A stack of recurrent layers between an input coding and a linear layer.

    It holds the parameters and no state; dropout is applied only where masks are given.
    """

    def __init__(self, config: ModelConfig, generator: torch.Generator | None = None) -> None:
        """Weights are uniform in ±1/sqrt(H), drawn from `generator`; an LSTM's forget bias is 1.

        The columns that a one-hot input selects are normal with deviation 0.5. At ±1/sqrt(H) a
        symbol would hardly move the gates, and learning would start several times slower.

        Raises:
            ConfigError: `config` is of another type or out of range, or names no vocabulary_size.
        """
        super().__init__()
        check_type("config", config, ModelConfig)
        check_section(config, "config.")
        if not config.vocabulary_size:
            raise ConfigError("config.vocabulary_size=0: a network needs at least one symbol")
        self.config = config
        v, h = config.vocabulary_size, config.hidden_size
        embedded = config.input == "embedding"
        self.embedding = (
            nn.Embedding(config.input_rows, config.embedding_size) if embedded else None
        )
        rows, places = config.label_rows, config.frame
        self.labels = nn.Embedding(rows, config.label_size) if rows else None
        self.layers = make_layers(config.cell, config.input_width, h, config.num_layers)
        self.frame = FrameHead(config) if places > 1 else None
        self.head = nn.Linear(config.head_size if places > 1 else h, places * v)
        self._initialise(generator)

    @torch.no_grad()
    def _initialise(self, generator: torch.Generator | None) -> None:
        h = self.config.hidden_size
        for name, parameter in self.named_parameters():
            if name.startswith(("embedding", "labels")):
                parameter.normal_(generator=generator)
            elif name == "layers.0.weight_ih_l0" and self.embedding is None:
                parameter.normal_(std=0.5, generator=generator)
            elif ".bias" in name and name.startswith("layers"):
                parameter.zero_()
                if "bias_ih" in name and self.config.cell == "lstm":
                    parameter[h : 2 * h] = 1.0  # rows i, f, g, o: the forget gate's
            else:
                parameter.uniform_(-(h**-0.5), h**-0.5, generator=generator)
        if self.frame is not None:
            self.frame.drawn.normal_(std=SPREAD, generator=generator)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.head.weight.device

    def copied(self) -> "CharRNN":
        """A network with the same weights in memory of its own, which takes no gradients."""
        network = copy.deepcopy(self).requires_grad_(False)
        for module in network.modules():
            if isinstance(module, nn.RNNBase):
                module.flatten_parameters()  # as cuDNN wants them, which a copy does not keep
        return network

    def zero_state(self, batch_size: int) -> State:
        """The state before the first symbol: zeros, (L, B, H), in fp32."""
        zeros = functools.partial(torch.zeros, device=self.device)
        return zero_state(self.config, batch_size, zeros, torch.float32)

    def runnable_weights(
        self,
        *,
        dtype: torch.dtype | None = None,
        kernel: str | None = None,
        separators: bool = False,
    ) -> RunnableWeights:
        """The weights as they run: with a `dtype` in that, and laid out as the kernel wants them.

        Without arguments they are the parameters themselves. The result can be differentiated.

        Args:
            dtype: of weights and activations; by default that of the parameters.
            kernel: see `Execution`; by default the plainest one. stacked takes no masks or resets.
            separators: whether resets will be given.
        """
        kernel = kernel or ("unrolled" if self.config.backend == "unrolled" else "layerwise")
        packs, dtype = dtype is not None, dtype or self.head.weight.dtype
        embeddings = {"embedding": self.embedding, "labels": self.labels}
        tables = {name: own.weight.to(dtype) for name, own in embeddings.items() if own is not None}
        frame = None
        if (head := self.frame) is not None:
            parts = (head.hidden.weight, head.hidden.bias, head.drawn)
            frame = FrameWeights(*(part.to(dtype) for part in parts))
        layers = Layers.of(self.layers, self.config.cell, kernel, dtype)
        weight, bias = self.head.weight.to(dtype), self.head.bias.to(dtype)
        if packs:
            layers = layers.packed(separators)
        if packs and weight.is_cuda and frame is None:
            weight, bias = packed_head(weight, bias)
        return RunnableWeights(self.config, tables, layers, weight, bias, frame)

    def forward(
        self,
        symbols: Tensor,
        state: State,
        masks: Tensor | None = None,
        resets: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> tuple[Tensor, State]:
        """Run T steps with the parameters as they are: see `RunnableWeights`."""
        return self.runnable_weights()(symbols, state, masks, resets, labels=labels)
