"""What is asked of generation, by name: how to continue a prompt."""

import dataclasses
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from seqkit.config import Config
from seqkit.generation.sampling import Sampling, sampling_of

_SEEDS = 10**9  # that are drawn from: short enough to be typed


@dataclass(frozen=True)
class Request:
    """How a prompt is continued."""

    length: int
    """New symbols of each stream."""
    streams: int = 1
    sampling: Sampling = Sampling()
    engine: str = "auto"
    precision: str = "auto"
    retry: int = 0
    """How often a stream of sound in trouble is redrawn."""


def with_seed(config: Config, notice: Callable[[str], None]) -> Config:
    """The config with a seed: one that is drawn from the system and told, where none is given."""
    if config.seed is not None:
        return config
    seed = secrets.randbelow(_SEEDS)
    if sampling_of(config).temperature > 0:  # else nothing is drawn
        notice(f"seed={seed}")
    return dataclasses.replace(config, seed=seed)


def request_of(config: Config, length: int) -> Request:
    """What a config asks for, `length` symbols long."""
    return Request(
        length=length,
        streams=config.streams,
        sampling=sampling_of(config),
        engine=config.sample.engine,
        precision=config.sample.precision,
        retry=config.sample.retry,
    )
