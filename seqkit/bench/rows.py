"""What the rows of a bench are made of."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from seqkit.config import Config
from seqkit.foundation.console import Progress, unseen
from seqkit.kernels.timing import Build, interleave

_FEW = 5  # calls of each variant, enough to tell which is the fastest


@dataclass(frozen=True)
class Row:
    """What is timed: what builds the call, and how many symbols each call handles.

    `variant` names the way that was taken where there are several.
    """

    build: Build
    symbols: int
    variant: str = ""


def fastest(builds: Mapping[str, Build], device: torch.device, progress: Progress = unseen) -> str:
    """The name of the build whose call is the fastest, by a short measurement.

    One is built at a time, since together they would need the memory of all. Those that cannot run
    here are left out.

    Raises:
        RuntimeError: none can run.
    """
    milliseconds: dict[str, float] = {}
    failure = RuntimeError("nothing to time")
    with progress("find the fastest", len(builds)) as bar:
        for done, (name, build) in enumerate(builds.items()):
            bar.update(done, name)
            try:
                timing = interleave({name: build}, device, rounds=1, calls=_FEW)[name]
            except RuntimeError as error:
                failure = error.with_traceback(None)  # whose frames hold its tensors
            else:
                milliseconds[name] = timing.quantile(0.5)
    if not milliseconds:
        raise failure
    return min(milliseconds, key=milliseconds.__getitem__)


def random_symbols(config: Config, count: int) -> Tensor:
    """Symbols (N,) drawn uniformly: only time counts."""
    generator = torch.Generator().manual_seed(config.fixed_seed)
    return torch.randint(config.model.vocabulary_size, (count,), generator=generator)


def window(config: Config, device: torch.device, lanes: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets, each (T, B) with B = lanes."""
    steps = config.train.sequence_length
    symbols = random_symbols(config, (steps + 1) * lanes).view(steps + 1, lanes).to(device)
    return symbols[:-1].contiguous(), symbols[1:].contiguous()
