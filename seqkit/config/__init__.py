"""Every key that a user can set: its type, default, range and meaning.

The dataclasses are plain, and `check` checks types and ranges. docs/generated.py makes the page of
keys from them.
"""

from seqkit.config.data import HIGHEST_RATE as HIGHEST_RATE
from seqkit.config.data import DataConfig as DataConfig
from seqkit.config.model import ARITHMETIC_KEYS as ARITHMETIC_KEYS
from seqkit.config.model import TEMPERATURE as TEMPERATURE
from seqkit.config.model import ModelConfig as ModelConfig
from seqkit.config.model import SampleConfig as SampleConfig
from seqkit.config.model import check_model as check_model
from seqkit.config.root import RUNS as RUNS
from seqkit.config.root import Config as Config
from seqkit.config.root import as_data_asks as as_data_asks
from seqkit.config.root import check as check
from seqkit.config.root import options as options
from seqkit.config.root import set_value as set_value
from seqkit.config.root import taken as taken
from seqkit.config.root import values_of as values_of
from seqkit.config.training import OptimizerConfig as OptimizerConfig
from seqkit.config.training import TrainConfig as TrainConfig
