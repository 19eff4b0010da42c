"""A corpus on the host against one on the GPU: what a training step takes, as a line of JSON.

    python benchmarks/host_corpus.py shape=text

The keys are those of `bench`. `host` is a training whose corpus, a file of a gigabyte, stays there
because the GPU's free memory does not suffice (something else fills it while the training is set
up); `gpu` one that has the same corpus on the GPU. Both are timed in turn. `cold_mean_ms` is a step
of `host` after the system was told to forget the file, the mean of a thousand beside that before;
`read_*` is how fast the file is read as a whole then, and once more.
"""

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seqkit import compose
from seqkit.config import Config
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.data.symbol_files import StoredFile, StoredSymbols, digests
from seqkit.foundation import device
from seqkit.kernels.timing import interleave
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.training.kernel_choice import choose_execution
from seqkit.training.plan import Plan
from seqkit.training.trainer import Trainer

SIZE = 1 << 30  # symbols, a byte each
_BLOCK = 1 << 24
_ROOM = 3  # times the corpus that is left of the GPU's memory: it takes more than a quarter of that


def write_symbols(file: Path, size: int, vocabulary: int) -> None:
    """A file of random symbols, on the disk and not only in memory."""
    block = np.random.default_rng(0).integers(0, vocabulary, min(size, _BLOCK), np.uint8).tobytes()
    with file.open("wb") as stream:
        for _ in range(size // len(block)):
            stream.write(block)
        stream.flush()
        os.fsync(stream.fileno())


def forget(file: Path) -> None:
    """Let the system drop what it keeps of a file in memory."""
    with file.open("rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_rate(file: Path) -> float:
    """Megabytes a second of one pass over a file."""
    begun = time.perf_counter()
    with file.open("rb", buffering=0) as stream:
        buffer = bytearray(_BLOCK)
        while stream.readinto(buffer):
            pass
    return file.stat().st_size / 1e6 / (time.perf_counter() - begun)


@contextlib.contextmanager
def little_memory(chosen: torch.device, left: int) -> Iterator[None]:
    """Leave so many bytes of a GPU's memory free."""
    held = None
    if chosen.type == "cuda":
        torch.cuda.empty_cache()
        free = torch.cuda.mem_get_info(chosen)[0]
        held = torch.empty(max(free - left, 0), dtype=torch.uint8, device=chosen)
    yield
    del held
    if chosen.type == "cuda":
        torch.cuda.empty_cache()


def trainer(config: Config, lanes: Lanes, execution: Execution, chosen: torch.device) -> Trainer:
    """A training as `train` makes it, on a device."""
    model = CharRNN(config.model, torch.Generator().manual_seed(config.fixed_seed)).to(chosen)
    empty = Part(np.zeros(0, np.uint8), np.zeros(0, np.int64))
    plan = Plan(config.optimizer, config.train, config.fixed_seed, execution)
    return Trainer(model, lanes, empty, plan)


def mean_step(training: Trainer, chosen: torch.device, steps: int) -> float:
    """Milliseconds of a step, from the first to the end of the last."""
    begun = time.perf_counter()
    for _ in range(steps):
        training.update()
    if chosen.type == "cuda":
        torch.cuda.synchronize(chosen)
    return (time.perf_counter() - begun) / steps * 1000


def measured(config: Config, folder: Path, size: int = SIZE, calls: int = 200) -> dict[str, Any]:
    """Milliseconds of a step: medians, 90th percentiles, means; and megabytes a second."""
    chosen, file = device.choose_device(config.device), folder / "symbols"
    vocabulary = config.model.vocabulary_size
    write_symbols(file, size, vocabulary)
    stored = StoredFile(file, size, digests(file)[1])

    def lanes() -> Lanes:
        part = Part(StoredSymbols.of([stored], vocabulary, "start again"), np.zeros(1, np.int64))
        return Lanes(part, 0, config.train.batch_size, config.train.sequence_length)

    precisions = device.candidate_precisions(config.train.precision, chosen)
    model = CharRNN(config.model, torch.Generator().manual_seed(0)).to(chosen)
    execution = choose_execution(model, lanes(), precisions=precisions)
    on_gpu = trainer(config, lanes(), execution, chosen)
    with little_memory(chosen, _ROOM * size):
        on_host = trainer(config, lanes(), execution, chosen)
    graphs = [on_gpu.prepare(), on_host.prepare()]
    rows = {"gpu": lambda: on_gpu.update, "host": lambda: on_host.update}
    timings = interleave(rows, chosen, calls=calls)
    means = {}
    for name in ("host", "cold"):
        if name == "cold":
            forget(file)
        means[f"{name}_mean_ms"] = round(mean_step(on_host, chosen, 5 * calls), 3)
    forget(file)
    return {
        "device": device.describe(chosen),
        "execution": str(execution),
        "read_ahead": on_host._step._windows._prefetcher is not None,
        "graphs": graphs,
        **{f"{name}_ms": round(own.quantile(0.5), 3) for name, own in timings.items()},
        **{f"{name}_p90_ms": round(own.quantile(0.9), 3) for name, own in timings.items()},
        **means,
        "ratio": round(timings["host"].quantile(0.5) / timings["gpu"].quantile(0.5), 4),
        "read_cold_mb_s": round(read_rate(file)),
        "read_again_mb_s": round(read_rate(file)),
    }


def main(arguments: Sequence[str]) -> None:
    """Print what these overrides of `bench` come to."""
    config = compose.compose([*arguments], []).config
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(json.dumps(measured(config, Path(folder))) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
