"""The root of all keys, and the checks that take several keys."""

import operator
from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, TypeVar, cast

from seqkit.config.data import DataConfig
from seqkit.config.model import ModelConfig, SampleConfig, check_model
from seqkit.config.training import OptimizerConfig, TrainConfig, check_train
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import check_section, option, options_of

Keys = TypeVar("Keys")
RUNS = "runs"
"""The folder of all runs, unless another one is given."""


@dataclass
class Config:
    """The root: the keys that are typed most, and the groups."""

    recipe: str | None = option(
        None, "the recipe: one of seqkit's, of --config-dir or of a package"
    )
    run_dir: str | None = option(
        None,
        "the run's folder, new, empty or a run's; by default RUNS/RECIPE/TIME. With `--multirun` "
        "the folder in which the runs have theirs, numbered from 0, beside whatever else is there",
    )
    runs: str = option(RUNS, "the folder that holds the folders of runs; compare takes a glob, too")
    resume: str = option(
        "never",
        "auto resumes the run in run_dir (without a recipe: by its own settings), or starts it; "
        "force resumes it though other keys changed",
        choices=("never", "auto", "force"),
    )
    init_from: str | None = option(
        None, "start from the weights of this checkpoint, named as checkpoint= is"
    )
    plugins: list[str] = option(
        [], "modules with data sets or codecs of your own (docs/reference/plugins.md)"
    )
    device: str = option("auto", "auto, cpu, cuda or cuda:N")
    seed: int | None = option(
        None,
        "seed of weights, dropout and samples; by default 0, and in generate drawn anew",
        minimum=0,
        maximum=2**63 - 1,
    )
    json: bool = option(False, "print one JSON object")
    out: str | None = option(None, "write the result to this file")
    overwrite: bool = option(False, "replace files that exist")
    quiet: bool = option(False, "no progress and no notices on stderr")
    checkpoint: str | None = option(
        None,
        "a run's folder, a checkpoint file, a ready-made model (shakespeare, etude), or "
        "hf://USER/NAME",
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
        "digit:7,speaker:jackson, a mixture as a:0.7,b:0.3, or none; what is not given is drawn as "
        "often as the data has it",
    )
    label_strength: float = option(
        1.0,
        "how much the label counts: above 1 further from what the model says without one; PyTorch "
        "draws such a sample, several times as slowly",
        minimum=0,
        maximum=100,
    )
    until: str | None = option(
        None,
        "end a sample once the new text has this in it, or after length; \\n, \\t and \\\\ stand "
        "for a line end, a tab and a backslash; the word document: where the model ends its "
        "document (model.ends)",
    )
    streams: int = option(1, "samples to generate side by side", minimum=1)
    takes: int = option(
        1,
        "of sound: make so many side by side, and keep the one that is most like the recording "
        "that the model learnt and copies it least",
        minimum=1,
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
    protocol: str = option(
        "streaming",
        "evaluate with the state carried through (streaming), in windows that start from the zero "
        "state (windowed), or learning from what was just scored (dynamic); or measure how much "
        "sound that it makes is like the recording (spectral)",
        choices=("streaming", "windowed", "dynamic", "spectral"),
    )
    window: int = option(256, "symbols in a window of protocol=windowed", minimum=1)
    part: str = option(
        "validation",
        "which part of the checkpoint's own data to evaluate",
        choices=("validation", "test"),
    )
    port: int = option(
        8000, "play: the port to listen at; 0 for any that is free", minimum=0, maximum=65535
    )
    gpus: int | None = option(
        None,
        "--multirun: so many jobs at once, each on a GPU of its own (launcher=local or slurm)",
        minimum=1,
    )
    jobs: int | None = option(
        None, "--multirun: so many jobs at once, on CPUs (launcher=local or slurm)", minimum=1
    )
    launcher: str = option(
        "serial",
        "--multirun: one job after the other (serial), several at once on this machine (local), "
        "or jobs of a Slurm cluster (slurm; needs seqkit[slurm])",
        choices=("serial", "local", "slurm"),
    )
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    sample: SampleConfig = field(default_factory=SampleConfig)

    @property
    def fixed_seed(self) -> int:
        """The seed of what repeats by default: a training."""
        return self.seed or 0


def options() -> Iterator[tuple[str, Field[Any]]]:
    """Every key with its dotted name, depth first, in the order of the dataclasses."""
    return options_of(Config)


def values_of(config: Config) -> dict[str, Any]:
    """Every key's value by its dotted name."""
    return {name: operator.attrgetter(name)(config) for name, _ in options()}


def set_value(config: Config, name: str, value: object) -> None:
    """Set a key by its dotted name."""
    holder, _, key = name.rpartition(".")
    setattr(getattr(config, holder) if holder else config, key, value)


def taken(config: Config, keys: type[Keys]) -> Keys:
    """The values of some keys: those that a dataclass names as its fields."""
    return keys(**{item.name: getattr(config, item.name) for item in fields(cast(Any, keys))})


def as_data_asks(config: Config) -> Config:
    """The config with a network for its data: an input beside labels, and an end of documents."""
    data, model = config.data, config.model
    ends = data.cuts_files if model.ends is None else model.ends
    embedded = "embedding" if data.label else model.input
    return replace(config, model=replace(model, ends=ends, input=embedded))


def check(config: Config) -> None:
    """Check the whole config. Raises ConfigError."""
    check_section(config)
    prompts = (config.prompt, config.prompt_file, config.prompt_audio)
    if sum(prompt is not None for prompt in prompts) > 1:
        raise ConfigError("give one of prompt, prompt_file and prompt_audio")
    if config.length is not None and config.seconds is not None:
        raise ConfigError("give length or seconds, not both")
    if config.takes > 1 and config.streams > 1:
        raise ConfigError(
            f"takes={config.takes} streams={config.streams}: give one of the two: of takes one is "
            "kept, of streams all"
        )
    if config.data.channel != "mix" and not config.data.channel.isdecimal():
        raise ConfigError(f"data.channel={config.data.channel}: give mix, or a number from 0")
    if config.data.channel != "mix" and config.data.channels == 2:
        raise ConfigError(
            f"data.channel={config.data.channel} data.channels=2: give one of the two"
        )
    if config.part != "validation" and config.data.path:
        raise ConfigError(f"part={config.part} is of the checkpoint's own data: data.path has none")
    if config.model.ends and config.train.jump_after:
        raise ConfigError(
            "model.ends=true: train.jump_after lets sounds go on in another one, so none of them "
            "has an end: give train.jump_after=0"
        )
    check_model(config.model)
    check_train(config.train)
    split = config.data.split
    adds_up = abs(sum(split) - 1) <= 1e-6  # no sum with NaN or infinity does
    if len(split) != 3 or min(split) < 0 or split[0] == 0 or not adds_up:
        raise ConfigError(
            f"data.split={split}: give three fractions for training, validation and test that "
            "add up to 1, the first above 0, as in data.split=0.9,0.1,0"
        )
