"""Keys of the network, and of what it does once it is trained: generate, and go on learning."""

from dataclasses import dataclass, field

from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import check_section, option

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
        "what trains the layers: cudnn (on a CPU oneDNN), persistent (seqkit's kernels; "
        "docs/how/kernel.md), auto (the fastest of these), or the equations step by step",
        choices=("auto", "cudnn", "persistent", "unrolled"),
    )
    num_layers: int = option(2, "L, the depth of the stack", minimum=1, maximum=1000)
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
        0, "V, the number of logits; 0 takes the size of the data's vocabulary"
    )
    symbols_per_step: int = option(
        0,
        "P, symbols that a step reads and writes, each given those before it; 0 takes a frame of "
        "the data, which of data.codec=spectral has four codes",
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
        0.0, "share of units dropped after every layer in training", maximum=0.95
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
        maximum=0.95,
    )
    weight_drop: float = option(
        0.0,
        "share of the recurrent weights left out of a training step (the LSTM's W_hh; DropConnect)",
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
        "a prompt's character that the model never saw: refused, left out, or read as what is near",
        choices=("error", "skip", "nearest"),
    )


@dataclass
class SampleKeys:
    """Which sample is made."""

    seed: int | None = option(
        None,
        "seed of weights, dropout and samples; by default 0, and in generate drawn anew",
        minimum=0,
        maximum=2**63 - 1,
    )
    prompt: str | None = option(None, "text that the sample continues, taken literally")
    prompt_file: str | None = option(None, "a file whose content the sample continues")
    prompt_audio: str | None = option(None, "a recording that the sample continues")
    include_prompt: bool = option(
        True, "whether the result begins with the prompt; with false it is what follows it"
    )
    length: int | None = option(
        None,
        "symbols to generate, of sound samples or codes of frames; by default 500 of text",
        minimum=1,
    )
    seconds: float | None = option(
        None, "seconds of sound to generate, by default 5; or give length", above=0, maximum=86400
    )
    loop: bool = option(
        False,
        "of sound: make one whose end meets its beginning when it is played round and round; it "
        "may be up to 0.05 s shorter than asked",
    )
    label: str | None = option(
        None,
        "the sample's label, of a model that learnt labels (data.label): a value, several as "
        "digit:7,speaker:jackson, or none; what is not given is drawn as the data combines it",
    )
    label_strength: float = option(
        1.0,
        "how much the label counts: above 1 further from what the model says without one; PyTorch "
        "draws such a sample, several times as slowly",
        maximum=100,
    )
    until: str | None = option(
        None,
        "end a sample once the new text has this in it, or after length; \\n, \\t and \\\\ stand "
        "for a line end, a tab and a backslash; the word document: where the model ends its "
        "document (model.ends)",
    )
    streams: int = option(1, "samples to generate side by side", minimum=1, maximum=10_000)
    takes: int = option(
        1,
        "of sound: make so many side by side, and keep the one that is most like the recording "
        "that the model learnt and copies it least",
        minimum=1,
        maximum=1000,
    )
    temperature: float | None = option(
        None,
        "divides the logits; 0 takes the likeliest symbol; by default the recipe's own, else 0.8",
        minimum=0,
    )
    top_k: int | None = option(None, "draw among the k likeliest symbols only", minimum=1)
    top_p: float | None = option(
        None,
        "draw among the likeliest symbols whose probabilities add up to this",
        above=0,
        maximum=1,
    )
    out: str | None = option(
        None,
        "the file for the result, or - for stdout; of sound it is a .wav, of several streams "
        "NAME_1 and so on; export makes a page (.html) or 8-bit weights (.safetensors)",
    )
    sample: SampleConfig = field(default_factory=SampleConfig)


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


def check_sample(keys: SampleKeys) -> None:
    """Check each key of a sample, and that they fit each other. Raises ConfigError."""
    check_section(keys)
    prompts = (keys.prompt, keys.prompt_file, keys.prompt_audio)
    if sum(prompt is not None for prompt in prompts) > 1:
        raise ConfigError("give one of prompt, prompt_file and prompt_audio")
    if keys.length is not None and keys.seconds is not None:
        raise ConfigError("give length or seconds, not both")
    if keys.takes > 1 and keys.streams > 1:
        raise ConfigError(
            f"takes={keys.takes} streams={keys.streams}: give one of the two: of takes one is "
            "kept, of streams all"
        )
