"""Every key that a user can set: its type, default, range and meaning.

The dataclasses are plain; Hydra and OmegaConf check the types against them (see `compose`), and
`check` the ranges. docs/generated.py makes the page of keys from them.
"""

from seqkit.config.data import HIGHEST_RATE, DataConfig
from seqkit.config.model import (
    ARITHMETIC_KEYS,
    TEMPERATURE,
    DynamicConfig,
    ModelConfig,
    SampleConfig,
    check_model,
)
from seqkit.config.root import Config, check, options, set_value, values_of
from seqkit.config.training import LauncherConfig, OptimizerConfig, SearchConfig, TrainConfig

__all__ = [
    "ARITHMETIC_KEYS",
    "HIGHEST_RATE",
    "TEMPERATURE",
    "Config",
    "DataConfig",
    "DynamicConfig",
    "LauncherConfig",
    "ModelConfig",
    "OptimizerConfig",
    "SampleConfig",
    "SearchConfig",
    "TrainConfig",
    "check",
    "check_model",
    "options",
    "set_value",
    "values_of",
]
