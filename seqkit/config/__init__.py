"""Every key that a user can set: its type, default, range and meaning.

The dataclasses are plain, and `check` checks types and ranges. docs/generated.py makes the page of
keys from them.
"""

import operator
from collections.abc import Iterator
from dataclasses import Field, dataclass, field
from typing import Any

from seqkit.config.data import HIGHEST_RATE as HIGHEST_RATE
from seqkit.config.data import DataConfig as DataConfig
from seqkit.config.model import ARITHMETIC_KEYS as ARITHMETIC_KEYS
from seqkit.config.model import TEMPERATURE as TEMPERATURE
from seqkit.config.model import ModelConfig as ModelConfig
from seqkit.config.model import SampleConfig as SampleConfig
from seqkit.config.model import SampleKeys as SampleKeys
from seqkit.config.model import check_model as check_model
from seqkit.config.model import check_sample as check_sample
from seqkit.config.training import OptimizerConfig as OptimizerConfig
from seqkit.config.training import TrainConfig as TrainConfig
from seqkit.config.training import check_train
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import check_section, option, options_of

RUNS = "runs"
"""The folder of all runs, unless another one is given."""


@dataclass
class CommandKeys:
    """What a command reads, and where; how it is run."""

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
        "force resumes it though keys changed that are none of the data",
        choices=("never", "auto", "force"),
    )
    init_from: str | None = option(
        None, "start from the weights of this checkpoint, named as checkpoint= is"
    )
    plugins: list[str] = option(
        [], "modules with data sets or codecs of your own (docs/reference/plugins.md)"
    )
    device: str = option("auto", "auto, cpu, cuda or cuda:N")
    json: bool = option(False, "print one JSON object")
    overwrite: bool = option(False, "replace files that exist")
    quiet: bool = option(False, "no progress and no notices on stderr")
    checkpoint: str | None = option(
        None,
        "a run's folder, a checkpoint file, or a ready-made model (shakespeare, etude); play "
        "offers all in runs= and the ready-made ones by default",
    )
    protocol: str = option(
        "streaming",
        "evaluate with the state carried through (streaming), in windows that start from the zero "
        "state (windowed), or learning from what was just scored (dynamic)",
        choices=("streaming", "windowed", "dynamic"),
    )
    window: int = option(256, "symbols in a window of protocol=windowed", minimum=1)
    part: str = option(
        "validation",
        "which part of the checkpoint's own data to evaluate",
        choices=("validation", "test"),
    )
    port: int = option(8000, "play: the port to listen at; 0 for any that is free", maximum=65535)
    launcher: str = option(
        "serial",
        "--multirun: one job after the other (serial), or one at once on each GPU (local)",
        choices=("serial", "local"),
    )


@dataclass
class Keys(SampleKeys, CommandKeys):
    """All keys but those of a training: what commands read beside `train`."""

    given = tuple[str, ...]()
    """The keys that a command line gave, each once: no key itself."""
    data: DataConfig = field(default_factory=DataConfig)


@dataclass
class Config(Keys):
    """All keys: those without a group, and the groups."""

    model: ModelConfig = field(default_factory=ModelConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

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


def check(config: Config) -> None:
    """Check the whole config. Raises ConfigError."""
    check_section(config)
    check_sample(config)
    if (channel := config.data.channel) != "mix":
        if not channel.isdecimal():
            raise ConfigError(f"data.channel={channel}: give mix, or a number from 0")
        if config.data.channels == 2:
            raise ConfigError(f"data.channel={channel} data.channels=2: give one of the two")
    if "part" in config.given and config.data.path:
        raise ConfigError(
            f"part={config.part} is of the checkpoint's own data: leave part or data.path out"
        )
    if config.model.ends and config.train.jump_after:
        raise ConfigError(
            "model.ends=true: train.jump_after lets sounds go on in another one, so none of them "
            "has an end: give train.jump_after=0"
        )
    check_model(config.model)
    check_train(config.train)
    split = config.data.split
    shares = len(split) == 3 and split[0] > 0 and all(0 <= share <= 1 for share in split)
    if not shares or abs(sum(split) - 1) > 1e-6:
        raise ConfigError(
            f"data.split={str(split)[:80]}: give three fractions for training, validation and test "
            "that add up to 1, the first above 0, as in data.split=0.9,0.1,0"
        )
