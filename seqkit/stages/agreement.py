"""Whether all processes were started for the same command."""

import torch

from seqkit.config import Config, values_of
from seqkit.data import streams
from seqkit.foundation import device
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.ranks import Ranks
from seqkit.runs.resume import PLACE_KEYS

_OWN_KEYS = PLACE_KEYS | {"checkpoint", "out", "run_dir", "runs", "quiet"}
"""Keys that may differ: the same data may lie elsewhere, and rank 0 alone writes."""


def check_settings(config: Config, ranks: Ranks) -> None:
    """Compare the settings, and the versions of what computes, with those of rank 0.

    Raises:
        ConfigError: they differ, or the data is a stream, which one process alone can read.
    """
    if ranks.alone:
        return
    for path in config.data.path:
        if streams.is_pipe(path):
            raise ConfigError(f"data.path={path}: several processes cannot read one stream")
    shared = {name: value for name, value in values_of(config).items() if name not in _OWN_KEYS}
    ranks.check_same(device.versions() | shared)


def check_device(chosen: torch.device, ranks: Ranks) -> None:
    """Raises ConfigError where a process computes on another kind of device than rank 0.

    On a CPU it computes in as many threads from now on: sums are rounded by their number.
    """
    on_gpu = chosen.type == "cuda"
    ranks.check_same({"device": torch.cuda.get_device_name(chosen) if on_gpu else chosen.type})
    if not on_gpu and not ranks.alone:
        torch.set_num_threads(ranks.shared(torch.get_num_threads))
