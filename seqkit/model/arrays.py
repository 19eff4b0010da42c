"""A network as NumPy's arrays: its weights, for engines that make its steps without PyTorch."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Union

import numpy as np

from seqkit.config import ModelConfig
from seqkit.foundation.device import HOST, Device
from seqkit.foundation.machine import require_memory
from seqkit.model.state import State, zero_state
from seqkit.symbols import Floats

if TYPE_CHECKING:
    from seqkit.model.char_rnn import CharRNN

Network = Union["CharRNN", "NetworkArrays"]
"""What generates: on a GPU, or while it learns, a module; else arrays."""

_KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # of a layer's weights, as PyTorch says


@dataclass(frozen=True)
class NetworkArrays:
    """The weights of a `CharRNN` by the names that it gives them, on the CPU."""

    config: ModelConfig
    weights: Mapping[str, Floats]

    @classmethod
    def of(cls, network: Network) -> "NetworkArrays":
        """A network as arrays, in fp32."""
        if isinstance(network, NetworkArrays):
            return network
        tensors = network.state_dict().items()
        weights = {name: values.float().cpu().numpy() for name, values in tensors}
        return cls(network.config, weights)

    @property
    def device(self) -> Device:
        """Where it is."""
        return HOST

    def char_rnn(self) -> "CharRNN":
        """The module with these weights, in memory of its own."""
        import torch

        from seqkit.model.char_rnn import CharRNN

        module = CharRNN(self.config)
        module.load_state_dict({name: torch.tensor(part) for name, part in self.weights.items()})
        return module

    def with_choices(self, weights: Floats) -> "NetworkArrays":
        """The network with one label in place of all, whose numbers are n choices; it generates.

        `weights` (n, R) says how much of each row of the embedding of labels a choice has.
        """
        chosen = {"labels.weight": weights.astype(np.float32) @ self.weights["labels.weight"]}
        config = replace(self.config, labels=[len(weights) - 1])
        return NetworkArrays(config, {**self.weights, **chosen})

    def zero_state(self, batch_size: int) -> State:
        """See `CharRNN.zero_state`."""
        return zero_state(self.config, batch_size)

    def layer(self, number: int) -> list[Floats]:
        """The weights of a layer: w for its input, u for its state, and both biases."""
        return [self.weights[f"layers.{number}.{kind}_l0"] for kind in _KINDS]

    def head(self, name: str = "head") -> tuple[Floats, Floats]:
        """The matrix and the bias of a linear layer."""
        return self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]

    def gate_table(self, name: str) -> Floats | None:
        """What each row of an embedding adds to the bottom layer's gates, (rows, G·H).

        Biases are left out. One-hot symbols (V, G·H) stand under `embedding`, too. None if the
        network reads nothing of that name. Raises DeviceError if memory is short: a small file
        may ask for a large table.
        """
        if self.config.input != "embedding":
            return self.layer(0)[0].T if name == "embedding" else None
        if f"{name}.weight" not in self.weights:
            return None
        rows, reader = self.factors(name)
        require_memory(len(rows) * len(reader) * rows.itemsize, "this network", "")
        return rows @ reader.T

    def factors(self, name: str) -> tuple[Floats, Floats]:
        """An embedding (rows, E), and what reads it, (G·H, E): their product is a gate table."""
        w, size = self.layer(0)[0], self.config.embedding_size
        reader = w[:, :size] if name == "embedding" else w[:, size:]
        return self.weights[f"{name}.weight"], reader


def shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """The shapes of all weights of a network, by name."""
    v, h, places, z = config.vocabulary_size, config.hidden_size, config.frame, config.head_size
    found: dict[str, tuple[int, ...]] = {}
    if config.input == "embedding":
        found["embedding.weight"] = config.input_rows, config.embedding_size
    if rows := config.label_rows:
        found["labels.weight"] = rows, config.label_size
    gates = config.gates * h
    for layer in range(config.num_layers):
        sizes = (gates, h if layer else config.input_width), (gates, h), (gates,), (gates,)
        found |= {f"layers.{layer}.{n}_l0": s for n, s in zip(_KINDS, sizes, strict=True)}
    if places > 1:
        found |= {"frame.hidden.weight": (places * z, h), "frame.hidden.bias": (places * z,)}
        found["frame.drawn"] = (places - 1) * v, z
    found |= {"head.weight": (places * v, z if places > 1 else h), "head.bias": (places * v,)}
    return found


def count_parameters(config: ModelConfig) -> int:
    """How many elements all parameters of a network have."""
    return sum(map(math.prod, shapes(config).values()))
