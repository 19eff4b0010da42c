"""What the rows of a bench are made of."""

from dataclasses import dataclass

import torch
from torch import Tensor

from seqkit.config import Config
from seqkit.kernels.timing import Build


@dataclass(frozen=True)
class Row:
    """What is timed: what builds the call, and how many symbols each call handles."""

    build: Build
    symbols: int


def random_symbols(config: Config, count: int) -> Tensor:
    """Symbols (N,) drawn uniformly: only time counts."""
    generator = torch.Generator().manual_seed(config.seed)
    return torch.randint(config.model.vocabulary_size, (count,), generator=generator)


def window(config: Config, device: torch.device, lanes: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets, each (T, B) with B = lanes."""
    steps = config.train.sequence_length
    symbols = random_symbols(config, (steps + 1) * lanes).view(steps + 1, lanes).to(device)
    return symbols[:-1].contiguous(), symbols[1:].contiguous()
