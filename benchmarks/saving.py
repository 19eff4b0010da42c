"""How long a training waits while its state is saved.

    python benchmarks/saving.py model.num_layers=2 model.hidden_size=1024

saves weights and both moments of Adam, and prints what share of a minute one save takes; on a GPU
(device=auto takes one) also how long copying them out of it takes. The folder for temporary files
decides which disk it is (TMPDIR).
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from seqkit.compose import compose
from seqkit.data.codecs import Characters
from seqkit.device import choose_device
from seqkit.model.char_rnn import CharRNN
from seqkit.plugins import Catalogue
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder


def report(keys: Sequence[str], rounds: int = 5) -> str:
    """The line that is printed: megabytes, seconds of a save (median), and its share of a minute.

    Args:
        keys: `model.*` and `device`, as of a training.
        rounds: how many saves.
    """
    root = compose(["recipe=shakespeare", *keys], []).config
    config, chosen = root.model, choose_device(root.device)
    codec = Characters("".join(map(chr, range(32, 97))), 0)
    config.vocabulary_size = codec.size
    network = CharRNN(config, torch.Generator().manual_seed(1)).to(chosen)
    weights = dict(network.state_dict())
    moments = {
        f"{kind}.{name}": own.clone() for kind in ("m", "v") for name, own in weights.items()
    }
    state = Checkpoint(
        config, codec, weights, {}, {}, {}, {}, training={}, training_tensors=moments
    )
    seconds, copied = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder(Path(name) / "run")
        with folder.claimed():
            folder.make()
            for _ in range(rounds):
                copied.append(_copy_out([*weights.values(), *moments.values()]))
                begun = time.perf_counter()
                folder.save(state)
                seconds.append(time.perf_counter() - begun)
            size = folder.files.checkpoint("last").stat().st_size
            assert folder.load_last(Catalogue(), print) is not None
    median = statistics.median(seconds)
    line = f"{size / 1e6:.1f} MB: {median:.3f} s a save, {median / 60:.2%} of a minute"
    if chosen.type == "cuda":
        line += f"; {statistics.median(copied):.3f} s of it to copy it out of the GPU"
    return line


def _copy_out(tensors: Sequence[Tensor]) -> float:
    """How many seconds it takes to have tensors on the CPU."""
    if tensors[0].is_cuda:
        torch.cuda.synchronize()
    begun = time.perf_counter()
    for tensor in tensors:
        tensor.cpu()
    return time.perf_counter() - begun


if __name__ == "__main__":
    print(report(sys.argv[1:]))
