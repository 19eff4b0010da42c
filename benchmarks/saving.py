"""How long a training waits while its state is saved.

    python benchmarks/saving.py model.num_layers=2 model.hidden_size=1024

saves weights and both moments of Adam, and prints what share of a minute one save takes. The folder
for temporary files decides which disk it is (TMPDIR).
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from seqkit.compose import compose
from seqkit.data.codecs import Characters
from seqkit.model.char_rnn import CharRNN
from seqkit.plugins import Catalogue
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder


def report(keys: Sequence[str], rounds: int = 5) -> str:
    """The line that is printed: megabytes, seconds of a save (median), and its share of a minute.

    Args:
        keys: `model.*`, as of a training.
        rounds: how many saves.
    """
    config = compose(["recipe=shakespeare", *keys], []).config.model
    codec = Characters("".join(map(chr, range(32, 97))), 0)
    config.vocabulary_size = codec.size
    weights = dict(CharRNN(config, torch.Generator().manual_seed(1)).state_dict())
    moments = {
        f"{kind}.{name}": own.clone() for kind in ("m", "v") for name, own in weights.items()
    }
    state = Checkpoint(
        config, codec, weights, {}, {}, {}, {}, training={}, training_tensors=moments
    )
    seconds = []
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder(Path(name) / "run")
        with folder.claimed():
            folder.make()
            for _ in range(rounds):
                begun = time.perf_counter()
                folder.save(state)
                seconds.append(time.perf_counter() - begun)
            size = folder.files.checkpoint("last").stat().st_size
            assert folder.load_last(Catalogue(), print) is not None
    median = statistics.median(seconds)
    return f"{size / 1e6:.1f} MB: {median:.3f} s a save, {median / 60:.2%} of a minute"


if __name__ == "__main__":
    print(report(sys.argv[1:]))
