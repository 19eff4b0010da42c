"""Every key that a user can set: its type, default, range and meaning.

The dataclasses are plain; Hydra and OmegaConf check the types against them (see `compose`), and
`check` the ranges. `docs/config.md` is the same table in prose, and a test keeps the two together.
"""

import math
from collections.abc import Iterator
from dataclasses import Field, dataclass, field
from typing import Any

from seqkit.checking import check_section, option, options_of
from seqkit.errors import ConfigError

TEMPERATURE = 0.8
"""Of samples, where neither the command line nor a recipe has one."""


@dataclass
class DataConfig:
    """Where the symbols come from and how they are read."""

    kind: str = option("auto", "how files are read", choices=("auto", "text", "bytes", "audio"))
    dataset: str = option("", "the data set used when data.path is not given (docs/datasets.md)")
    path: list[str] = option(
        [],
        "a file, a folder, or - for stdin; each file is one document; may be given several times",
    )
    pattern: str = option(
        "",
        "which files of a folder are read, such as *.c,*.h: by name, or by path within the folder "
        "where there is a /; by default those whose content is of the kind",
    )
    split: list[float] = option(
        [0.9, 0.1, 0.0],
        "fractions for training, validation and test: by position, or by whole files of sound",
    )
    encoding: str = option("utf-8", "the encoding of text files")
    newline: str = option(
        "keep",
        "line ends of text: keep them, or turn CR LF and CR alone into LF",
        choices=("keep", "lf"),
    )
    unknown: str = option(
        "error",
        "a character outside the vocabulary: refuse it (init_from: add it), skip it, or take "
        "the nearest one",
        choices=("error", "skip", "nearest"),
    )
    max_vocabulary: int = option(
        0, "keep only so many characters, the most frequent ones; 0 keeps all", minimum=0
    )
    sample_rate: int = option(
        0, "hertz that sound is resampled to; 0 keeps the files' own", minimum=0, maximum=384000
    )
    channel: str = option("mix", "the channel of sound to read, from 0; mix takes their mean")
    codec: str = option(
        "auto",
        "how text or samples become symbols: characters, bytes, mu_law, linear or a plug-in's; "
        "auto goes by data.kind, and takes mu_law for sound",
    )
    levels: int = option(256, "levels of the quantiser", minimum=2, maximum=65536)
    gain: str = option(
        "none",
        "one factor for all sound: none, or the one that makes the peak 1 or the RMS 0.1",
        choices=("none", "peak", "rms"),
    )
    on_bad_file: str = option(
        "error",
        "a file or folder that cannot be read: stop there, or leave it out",
        choices=("error", "skip"),
    )


@dataclass
class ModelConfig:
    """The network, and how it runs."""

    cell: str = option(
        "lstm", "the recurrent cell", choices=("lstm", "gru", "rnn_tanh", "rnn_relu")
    )
    backend: str = option(
        "auto",
        "what trains the layers: cudnn (on a CPU oneDNN), persistent (seqkit's kernel for Hopper "
        "GPUs; docs/kernels.md), auto (the fastest of these), or the equations step by step",
        choices=("auto", "cudnn", "persistent", "unrolled"),
    )
    cell_clip: float = option(
        0.0, "keep the LSTM's c within ± this, with model.backend=unrolled; 0: no limit", minimum=0
    )
    num_layers: int = option(2, "L, the depth of the stack", minimum=1)
    hidden_size: int = option(512, "H, the width of every layer", minimum=1)
    input: str = option(
        "one_hot", "how a symbol is shown to the first layer", choices=("one_hot", "embedding")
    )
    embedding_size: int = option(
        64, "width of the embedding, with model.input=embedding", minimum=1
    )
    vocabulary_size: int = option(
        0, "V, the number of logits; 0 takes the size of the data's vocabulary", minimum=0
    )
    dropout: float = option(
        0.0, "share of units dropped after every layer in training", minimum=0, maximum=0.95
    )

    autotune: bool = option(
        True, "on a GPU, time the ways to run the layers before training and take the fastest"
    )

    @property
    def clip(self) -> float:
        """The bound on the LSTM's c that holds with this backend; 0: none."""
        return self.cell_clip if self.backend == "unrolled" else 0.0

    @property
    def input_width(self) -> int:
        """X, the width of what the bottom layer sees."""
        return self.embedding_size if self.input == "embedding" else self.vocabulary_size

    @property
    def resets_in_one_call(self) -> bool:
        """Whether documents may begin anywhere in a window at no cost."""
        return self.cell == "lstm" or self.backend == "unrolled"


@dataclass
class OptimizerConfig:
    """The update rule, with a linear warm-up and a cosine decay over the whole run."""

    kind: str = option("adamw", "the update rule", choices=("adamw", "sgd"))
    lr: float = option(3e-3, "peak learning rate", above=0)
    final_lr: float = option(
        0.0, "learning rate at the last step, as a share of lr", minimum=0, maximum=1
    )
    warmup_steps: int = option(50, "steps of linear warm-up", minimum=0)
    weight_decay: float = option(
        0.01, "weight decay of the matrices, decoupled with adamw", minimum=0
    )
    beta1: float = option(
        0.9, "adamw: decay of the gradient's running mean", minimum=0, maximum=0.9999
    )
    beta2: float = option(
        0.99,
        "adamw: decay of the running mean of the squared gradient",
        minimum=0,
        maximum=0.999999,
    )
    momentum: float = option(
        0.9, "sgd: share of the last update that the next one keeps", minimum=0, maximum=0.9999
    )


@dataclass
class TrainConfig:
    """The training loop."""

    batch_size: int = option(32, "B, the number of lanes", minimum=1)
    sequence_length: int = option(64, "T, the steps through which gradients flow", minimum=1)
    max_steps: int | None = option(
        2000,
        "updates after which the training ends; null: no limit, as where only max_minutes is given",
        minimum=1,
    )
    max_epochs: int = option(
        0, "passes over the training part after which the training ends; 0: no limit", minimum=0
    )
    max_minutes: float = option(
        0.0,
        "minutes of wall time after which the training ends, in place of a recipe's max_steps; "
        "0: no limit",
        minimum=0,
    )
    patience: int = option(
        0, "end after this many validations in a row without improvement; 0: never", minimum=0
    )
    validate_every: int = option(500, "steps between validations; 0: only at the end", minimum=0)
    checkpoint_every: int = option(
        0, "steps between checkpoints, besides those at validations; 0: none", minimum=0
    )
    clip_norm: float = option(1.0, "largest norm of the whole gradient; 0: no limit", minimum=0)
    clip_value: float = option(
        0.0, "largest size of each element of the gradient; 0: no limit", minimum=0
    )
    precision: str = option(
        "auto",
        "precision of the matrix products; auto takes the device's fastest",
        choices=("auto", "fp32", "bf16", "fp16"),
    )
    deterministic: bool = option(False, "on a GPU, use only operations that repeat bit for bit")


@dataclass
class SampleConfig:
    """How symbols are generated."""

    engine: str = option(
        "auto",
        "what runs the network; auto takes the fastest that computes in fp32",
        choices=("auto", "torch", "cuda_graph", "fused", "onnx"),
    )
    precision: str = option(
        "auto",
        "precision of generation; auto is fp32, unless the chosen engine has only another",
        choices=("auto", "fp32", "fp16", "int8"),
    )
    unknown: str = option(
        "error",
        "a character of the prompt that the model never saw",
        choices=("error", "skip", "nearest"),
    )
    retry: int = option(
        0, "how often sound that ran into silence, clipping or a loop is drawn again", minimum=0
    )


@dataclass
class Config:
    """The root: the keys that are typed most, and the five groups."""

    recipe: str | None = option(
        None, "the recipe: one of seqkit's, of --config-dir or of a plug-in"
    )
    shape: str | None = option(None, "what bench times: a file of conf/shape")
    run_dir: str | None = option(None, "the run's folder; by default RUNS/RECIPE/TIME")
    runs: str = option("runs", "the folder that holds the folders of runs")
    resume: str = option(
        "never",
        "auto resumes the run in run_dir (without a recipe: by its own settings), or starts it; "
        "force resumes it though other keys changed",
        choices=("never", "auto", "force"),
    )
    init_from: str | None = option(None, "start from the weights of this run or checkpoint")
    plugins: list[str] = option(
        [], "modules with data sets, codecs or recipes of your own (docs/plugins.md)"
    )
    device: str = option("auto", "auto, cpu, cuda or cuda:N")
    seed: int | None = option(
        None,
        "seed of weights, dropout and samples; by default 0, and in generate drawn anew",
        minimum=0,
        maximum=2**63 - 1,
    )
    json: bool = option(False, "print one JSON object (evaluate, inspect, bench)")
    out: str | None = option(None, "write the result to this file")
    overwrite: bool = option(False, "replace files that exist")
    quiet: bool = option(False, "no progress and no notices on stderr")
    checkpoint: str | None = option(None, "a run's folder or a checkpoint file")
    prompt: str | None = option(None, "text that the sample continues, taken literally")
    prompt_file: str | None = option(None, "a file whose content the sample continues")
    prompt_audio: str | None = option(None, "a recording that the sample continues")
    length: int | None = option(
        None, "symbols to generate (of sound: samples); by default 500 symbols of text", minimum=1
    )
    seconds: float | None = option(
        None, "seconds of sound to generate, by default 5; or give length", above=0, maximum=86400
    )
    streams: int = option(1, "samples to generate side by side", minimum=1)
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
    protocol: str = option(
        "streaming",
        "evaluate with the state carried through, or in windows that start from the zero state",
        choices=("streaming", "windowed"),
    )
    window: int = option(256, "symbols in a window of protocol=windowed", minimum=1)
    part: str = option(
        "validation",
        "which part of the checkpoint's own data to evaluate",
        choices=("validation", "test"),
    )
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    sample: SampleConfig = field(default_factory=SampleConfig)

    @property
    def fixed_seed(self) -> int:
        """The seed of what repeats by default: training and bench."""
        return self.seed or 0


def check_model(model: ModelConfig) -> None:
    """Check that a network can be run as it is asked for. Raises ConfigError."""
    if model.cell_clip and (model.cell, model.backend) != ("lstm", "unrolled"):
        raise ConfigError(
            f"model.cell_clip={model.cell_clip:g}: PyTorch's fused calls have no such clamp: "
            "give model.backend=unrolled"
            if model.cell == "lstm"
            else f"model.cell_clip={model.cell_clip:g}: the cell {model.cell} has no c to clamp"
        )


def options() -> Iterator[tuple[str, Field[Any]]]:
    """Every key with its dotted name, depth first, in the order of the dataclasses."""
    return options_of(Config)


def check(config: Config) -> None:
    """Check the whole config. Raises ConfigError."""
    check_section(config)
    prompts = (config.prompt, config.prompt_file, config.prompt_audio)
    if sum(prompt is not None for prompt in prompts) > 1:
        raise ConfigError("give one of prompt, prompt_file and prompt_audio")
    if config.length is not None and config.seconds is not None:
        raise ConfigError("give length or seconds, not both")
    if config.data.channel != "mix" and not config.data.channel.isdecimal():
        raise ConfigError(f"data.channel={config.data.channel}: give mix, or a number from 0")
    if config.part != "validation" and config.data.path:
        raise ConfigError(f"part={config.part} is of the checkpoint's own data: data.path has none")
    check_model(config.model)
    if not (config.train.max_steps or config.train.max_epochs or config.train.max_minutes):
        raise ConfigError(
            "train.max_steps=null: nothing else ends the training: give train.max_minutes or "
            "train.max_epochs"
        )
    split = config.data.split
    if (
        len(split) != 3
        or not all(math.isfinite(share) and share >= 0 for share in split)
        or split[0] <= 0
        or abs(sum(split) - 1) > 1e-6
    ):
        raise ConfigError(
            f"data.split={split}: give three fractions for training, validation and test that "
            "add up to 1, the first above 0, as in data.split=0.9,0.1,0"
        )
