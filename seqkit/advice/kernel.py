"""Which kernel would train the layers on a GPU, and why."""

import torch

from seqkit.config import Config
from seqkit.model.execution import persistent_kernels
from seqkit.model.fused_calls import TENSOR_CORE, round_up
from seqkit.model.persistent_lstm import launch


def kernel_of(config: Config, device: torch.device) -> str | None:
    """In words; None on a CPU. The kernels are compiled for it, which takes some seconds."""
    if device.type != "cuda":
        return None
    hidden, lanes = config.model.hidden_size, round_up(config.train.batch_size, TENSOR_CORE)
    kernels = persistent_kernels(config.model)
    if not kernels:
        return "cuDNN, since seqkit's kernels take LSTM layers of a multiple of 64 units up to 1024"
    if "persistent" in kernels and not launch.refusal(device, hidden, lanes):
        return "seqkit's persistent kernel, in clusters"
    if reason := launch.grid_refusal(device, hidden, lanes, torch.float16):
        return f"cuDNN, since seqkit's persistent kernel {reason}"
    about = launch.card(device)
    found = launch.grid_tiling(lanes, hidden, about)
    used = found.clusters * launch.blocks(hidden) if found else 0
    return (
        f"seqkit's persistent kernel on {used} of {about.multiprocessors} multiprocessors, "
        "or cuDNN, whichever a training measures to be the faster"
    )
