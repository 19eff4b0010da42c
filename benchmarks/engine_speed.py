"""How fast the CPU's engines generate one stream: ONNX Runtime in fp32 and in 8 bits, and wasm.

    python -m benchmarks.engine_speed [key=value …]

trains networks of these shapes for one step, with the given keys, and prints for each engine, on
one thread and on two, medians of its turns: microseconds of a step and of the processors [10 % to
90 % of the turns], and symbols a second, of sound also times real time. It is the whole sampler, an
engine's first block left out. Codes, where a network reads them, are drawn uniformly.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

import seqkit
from seqkit.conditions import Conditions
from seqkit.foundation.errors import SeqkitError
from seqkit.foundation.threads import shared_cores
from seqkit.generation.engine import generate_blocks
from seqkit.generation.engines.choose import build_engine
from seqkit.generation.sampling import Sampling

_SHAPES = {
    "text, 2 x 384": ("shakespeare",),
    "sound, 2 x 384": ("my_sound", "model.num_layers=2"),
}
_ROWS = {
    "onnx, fp32, 1 thread": ("onnx", "fp32", 1),
    "onnx, fp32, 2 threads": ("onnx", "fp32", 2),
    "onnx, int8": ("onnx", "int8", 1),
    "wasm": ("wasm", "int8", 1),
}


def lines(keys: Sequence[str], rounds: int = 15, symbols: int = 4000) -> Iterator[str]:
    """The lines that are printed."""
    for shape, (recipe, *own) in _SHAPES.items():
        with tempfile.TemporaryDirectory() as name:
            run = Path(name) / "run"
            seqkit.train(recipe, *own, *keys, "train.max_steps=1", "device=cpu", f"run_dir={run}")
            model = seqkit.load(run, device="cpu")
        turns = {row: _generator(model, symbols, *setting) for row, setting in _ROWS.items()}
        times: dict[str, list[tuple[float, float]]] = {row: [] for row in turns}
        for _ in range(rounds):
            for row, turn in turns.items():
                times[row].append(turn())
        for row, found in times.items():
            wall, used = (1e6 * np.array(parts) for parts in zip(*found, strict=True))
            low, median, high = np.quantile(wall, [0.1, 0.5, 0.9])
            heard = f"{1e6 / median / model.sample_rate:6.2f} x" if model.sample_rate else ""
            yield (
                f"{shape:16}{row:24}{median:8.1f} us [{low:.1f} to {high:.1f}]"
                f"{np.median(used):8.1f} us of CPU{1e6 / median:10,.0f}/s{heard}"
            )


def _generator(
    model: seqkit.Model[object], symbols: int, name: str, precision: str, threads: int
) -> Callable[[], tuple[float, float]]:
    """Generates symbols: the seconds of a step, and those of the processors."""
    network, size = model.char_rnn, model.codec.size
    with shared_cores(exactly=threads):
        engine = build_engine(name, precision, network, size, streams=1)
    length = 1 + engine.block + symbols  # the first two blocks are not timed
    count = max(network.config.conditions, 1)
    codes = torch.from_numpy(np.random.default_rng(0).integers(count, size=(length, 1)))

    def turn() -> tuple[float, float]:
        blocks = generate_blocks(
            engine,
            np.zeros((1, size)),
            network.zero_state(1),
            length,
            Sampling(seed=1),
            conditions=lambda begin, count: Conditions(codes[begin : begin + count]),
        )
        for _ in range(2):
            next(blocks)
        begun, used = time.perf_counter(), time.process_time()
        made = sum(map(len, blocks))
        return (time.perf_counter() - begun) / made, (time.process_time() - used) / made

    return turn


if __name__ == "__main__":
    try:
        for line in lines(sys.argv[1:]):
            print(line, flush=True)
    except SeqkitError as error:
        print(f"engine_speed: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
