"""Keys of the network, and of what it does once it is trained: generate, and go on learning."""

from dataclasses import dataclass

from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import option

ARITHMETIC_KEYS = ("dropout", "output_dropout", "input_dropout", "weight_drop", "backend")
"""Keys of the model that say how it trains and runs, and not which weights it has."""
TEMPERATURE = 0.8
"""Of samples, where neither the command line nor a recipe has one."""


@dataclass
class ModelConfig:
    """The network, and how it runs."""

    cell: str = option(
        "lstm", "the recurrent cell", choices=("lstm", "gru", "rnn_tanh", "rnn_relu")
    )
    backend: str = option(
        "auto",
        "what trains the layers: cudnn (on a CPU oneDNN), persistent (seqkit's kernel; "
        "docs/how/kernel.md), auto (the fastest of these), or the equations step by step",
        choices=("auto", "cudnn", "persistent", "unrolled"),
    )
    num_layers: int = option(2, "L, the depth of the stack", minimum=1)
    hidden_size: int = option(512, "H, the width of every layer", minimum=1)
    input: str = option(
        "one_hot",
        "how a symbol is shown to the first layer; beside labels it is an embedding",
        choices=("one_hot", "embedding"),
    )
    embedding_size: int = option(
        64, "width of the embedding, with model.input=embedding", minimum=1
    )
    labels: list[int] = option(
        [],
        "how many values each label of a document has; empty takes what the data has (data.label)",
    )
    label_size: int = option(32, "width of the embedding of labels", minimum=1)
    vocabulary_size: int = option(
        0, "V, the number of logits; 0 takes the size of the data's vocabulary", minimum=0
    )
    symbols_per_step: int = option(
        0,
        "P, symbols that a step reads and writes, each given those before it; 0 takes a frame of "
        "the data, which of data.codec=spectral has four codes",
        minimum=0,
        maximum=64,
    )
    head_size: int = option(
        128, "width from which each symbol of a step is predicted, if there are several", minimum=1
    )
    ends: bool | None = option(
        None,
        "learn where documents end, with one more logit, for generate until=document; by default "
        "if data.document cuts files into them; with init_from a network that has not learnt it "
        "does, too",
    )
    dropout: float = option(
        0.0, "share of units dropped after every layer in training", minimum=0, maximum=0.95
    )
    output_dropout: float | None = option(
        None,
        "share of units dropped after the top layer in training; by default model.dropout",
        minimum=0,
        maximum=0.95,
    )
    input_dropout: float = option(
        0.0,
        "share of the embedding's units dropped in training, with model.input=embedding",
        minimum=0,
        maximum=0.95,
    )
    weight_drop: float = option(
        0.0,
        "share of the recurrent weights left out of a training step (the LSTM's W_hh; DropConnect)",
        minimum=0,
        maximum=0.95,
    )
    skip_connections: bool = option(
        False, "compute the logits from the sum of all layers' outputs, not from the top layer's"
    )

    @property
    def symbols(self) -> int:
        """The logits that are of symbols; with `ends` the last one is not."""
        return self.vocabulary_size - bool(self.ends)

    @property
    def frame(self) -> int:
        """P, the symbols of a step."""
        return max(self.symbols_per_step, 1)

    @property
    def input_rows(self) -> int:
        """The different symbols of a step, each with "none yet" if there are several."""
        return self.frame * (self.vocabulary_size + (self.frame > 1))

    @property
    def unit_dropout(self) -> list[float]:
        """The share of units dropped after each of the L layers."""
        top = self.dropout if self.output_dropout is None else self.output_dropout
        return [self.dropout] * (self.num_layers - 1) + [top]

    @property
    def input_width(self) -> int:
        """X, the width of what the bottom layer sees."""
        symbols = self.embedding_size if self.input == "embedding" else self.input_rows
        return symbols + (self.label_size if self.labels else 0)

    @property
    def label_rows(self) -> int:
        """The rows of the embedding of labels: of each label its values, and nothing."""
        return sum(count + 1 for count in self.labels)

    @property
    def gates(self) -> int:
        """G, the gates of a cell, each with a row of weights for every hidden unit."""
        return {"lstm": 4, "gru": 3}.get(self.cell, 1)

    @property
    def resets_in_one_call(self) -> bool:
        """Whether documents may begin anywhere in a window at no cost."""
        return self.cell == "lstm" or self.backend == "unrolled"


@dataclass
class SampleConfig:
    """How symbols are generated."""

    engine: str = option(
        "auto",
        "what runs the network; auto takes wasm for LSTMs on a CPU, which writes the same symbols "
        "as the page of export out=NAME.html, cuda_graph on a GPU, and torch for all else",
        choices=("auto", "torch", "cuda_graph", "wasm"),
    )
    precision: str = option(
        "auto",
        "precision of generation: wasm computes in int8, torch in fp32, and cuda_graph in fp32 or "
        "fp16; auto is the engine's first",
        choices=("auto", "fp32", "fp16", "int8"),
    )
    unknown: str = option(
        "error",
        "a prompt's character that the model never saw: refused, left out, or read as its nearest",
        choices=("error", "skip", "nearest"),
    )


def check_model(model: ModelConfig) -> None:
    """Check that a network can be run as it is asked for. Raises ConfigError."""
    if model.labels and model.input != "embedding":
        raise ConfigError(
            f"model.labels={model.labels}: they are read beside embedded symbols: give "
            "model.input=embedding"
        )
    if model.input_dropout and model.input != "embedding":
        raise ConfigError(
            f"model.input_dropout={model.input_dropout:g}: one-hot rows have no units to drop: "
            "give model.input=embedding"
        )
