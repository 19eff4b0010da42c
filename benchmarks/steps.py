"""How long a step takes at a shape, of training or of generation, beside other ways to make it.

    python -m benchmarks.steps text
    python -m benchmarks.steps generate_audio streams=64 json=true
    python -m benchmarks.steps torch_rnn model.num_layers=1 device=cpu

Keys are those of seqkit's commands. Every row is warmed up; then all are timed in turn, up to 20
calls of each, five times over. The medians of one run may be compared. Rows of training are in
`training_rows`; of generation:

plain                    a loop as it is usually written: stacked nn.LSTM, one-hot, one step a call,
                         softmax, multinomial, item()
torch, cuda_graph, wasm  the engines that run here, their draws and the copy of the symbols to the
                         host included
"""

import gc
import itertools
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.timing import interleave
from benchmarks.training_rows import Row, rows
from seqkit import compose
from seqkit.config import Config
from seqkit.foundation import device
from seqkit.foundation.errors import ConfigError, DeviceError, SeqkitError
from seqkit.generation.engines import PRECISIONS, build_engine
from seqkit.generation.sampler import Drawing, Engine, Request
from seqkit.model.char_rnn import CharRNN
from seqkit.runs.asked import sampling_of
from seqkit.symbols import uniforms_of_streams

SHAPES = {
    "text": "model.num_layers=2 model.hidden_size=512 model.vocabulary_size=65 "
    "train.batch_size=128 train.sequence_length=128",
    "audio": "model.num_layers=2 model.hidden_size=1024 model.vocabulary_size=256 "
    "train.batch_size=128 train.sequence_length=256",
    "mycaffe": "model.num_layers=2 model.hidden_size=512 model.vocabulary_size=62 "
    "model.input=embedding model.embedding_size=15 model.dropout=0.4 "
    "train.batch_size=25 train.sequence_length=75",
    "torch_rnn": "model.num_layers=2 model.hidden_size=512 model.vocabulary_size=65 "
    "train.batch_size=50 train.sequence_length=50",
    "caffe_lstm": "model.num_layers=3 model.hidden_size=2048 model.vocabulary_size=128 "
    "train.batch_size=20 train.sequence_length=100",
    "generate_text": "model.num_layers=2 model.hidden_size=512 model.vocabulary_size=65",
    "generate_audio": "model.num_layers=3 model.hidden_size=1024 model.vocabulary_size=256",
}
"""The keys of each shape; torch_rnn has published times for one and three layers, too."""
_FORWARD_BACKWARD = {
    ("mycaffe", 2): (
        ("MyCaffe, unrolled engine", "Titan Xp", 64.0),
        ("MyCaffe, cuDNN engine (it says 5 times faster)", "Titan Xp", 12.8),
    ),
    ("torch_rnn", 1): (("torch-rnn", "Titan X", 38.0), ("char-rnn", "Titan X", 58.0)),
    ("torch_rnn", 2): (("torch-rnn", "Titan X", 78.0), ("char-rnn", "Titan X", 108.0)),
    ("torch_rnn", 3): (("torch-rnn", "Titan X", 117.0), ("char-rnn", "Titan X", 157.0)),
    ("caffe_lstm", 3): (
        ("caffe-lstm", "Titan X", 539.0),
        ("Donahue's recurrent layer", "Titan X", 726.0),
    ),
}
"""Milliseconds that other authors published, by shape and depth: quoted, and not measured."""
_WAVERNN = {"name": "WaveRNN's persistent kernel", "gpu": "P100", "symbols_per_second": 96000}
_ENGINES = {"cuda": ("torch", "cuda_graph"), "cpu": ("torch", "wasm")}
_PAIRS = (
    ("plain", "seqkit"),
    ("plain_best", "seqkit"),
    ("seqkit", "bare"),
    ("bare", "bare_persistent"),
    ("bare", "bare_grid"),
)
_MANY = 1024  # steps in one call of an engine, unless length says otherwise
_FEW = 64  # at most, where Python makes every step


def measure(shape: str, keys: Sequence[str]) -> dict[str, Any]:
    """What is printed of a shape with these keys, `key=value`, beside its own.

    Raises:
        ConfigError: an unknown shape or key.
        DeviceError: no such device.
    """
    if shape not in SHAPES:
        raise ConfigError(f"{shape}: no such shape. There are: {', '.join(SHAPES)}")
    config = compose.compose([*SHAPES[shape].split(), *keys], [])
    chosen = torch.device(device.find_device(config.device, for_all=True))
    generates = shape.startswith("generate")
    timed = generation_rows(config, chosen) if generates else rows(config, chosen)
    timings = interleave({name: row.build for name, row in timed.items()}, chosen)
    measured = []
    for name, timing in timings.items():
        (low, middle, high), row = np.quantile(timing, (0.1, 0.5, 0.9)).tolist(), timed[name]
        measured.append(
            {
                "name": name,
                "median_ms": middle,
                "p10_ms": low,
                "p90_ms": high,
                "symbols_per_second": 1000 * row.symbols / middle,
                "peak_bytes": _peak_bytes(row, chosen),
                "steps": row.symbols // config.streams if generates else 1,
                "variant": row.variant,
            }
        )
    return {
        "shape": shape,
        "device": device.describe(chosen),
        "model": vars(config.model),
        "rows": measured,
        "ratios": _ratios(measured, generates),
        "published": _published(shape, config.model.num_layers),
    }


def _peak_bytes(row: Row, chosen: torch.device) -> int | None:
    """The most memory of a GPU that a row takes beside what is there; None on a CPU."""
    if chosen.type != "cuda":
        return None
    gc.collect()  # what others give back while a row is measured would count as its own
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(chosen)
    before = torch.cuda.memory_allocated(chosen)
    call = row.build()
    for _ in range(3):
        call()
    torch.cuda.synchronize(chosen)
    return torch.cuda.max_memory_allocated(chosen) - before


def generation_rows(config: Config, chosen: torch.device) -> dict[str, Row]:
    """A plain loop and all engines that can run here; a call makes the steps of all streams."""
    streams, many = config.streams, config.length or _MANY
    few = min(many, _FEW)
    model = CharRNN(config.model, torch.Generator().manual_seed(0)).to(chosen)
    found = {"plain": Row(partial(_plain, config, few, chosen), few * streams)}
    for name in _ENGINES[chosen.type]:
        request, size = Request(many, streams), config.model.vocabulary_size
        try:
            engine = build_engine(name, model, size, request)
        except (ConfigError, DeviceError) as error:
            print(f"no row {name}: {error}", file=sys.stderr)
            continue
        steps = few if name == "torch" else many
        build = partial(_engine, config, steps, engine, model)
        found[name] = Row(build, steps * streams, PRECISIONS[name][0])
    return found


def _engine(config: Config, steps: int, engine: Engine, model: CharRNN) -> Callable[[], object]:
    sampling, state = sampling_of(config), model.zero_state(config.streams)
    first, streams = np.zeros(config.streams, np.int64), range(config.streams)
    positions = itertools.count(1, steps)

    def generate() -> None:
        draws = uniforms_of_streams(0, streams, next(positions), steps)
        for _ in engine.sample(Drawing(first, state, [draws], sampling, first)):
            pass

    return generate


def _plain(config: Config, steps: int, chosen: torch.device) -> Callable[[], object]:
    settings, size = config.model, config.model.vocabulary_size
    rnn = nn.LSTM(size, settings.hidden_size, settings.num_layers).to(chosen)
    head = nn.Linear(settings.hidden_size, size).to(chosen)
    temperature = sampling_of(config).temperature or 1.0

    @torch.inference_mode()
    def generate() -> None:
        symbols = torch.zeros(1, config.streams, dtype=torch.int64, device=chosen)
        state = None
        for _ in range(steps):
            y, state = rnn(F.one_hot(symbols, size).float(), state)
            shares = F.softmax(head(y[0]) / temperature, -1)
            symbols = torch.multinomial(shares, 1).T
            symbols[0, 0].item()

    return generate


def _ratios(measured: Sequence[dict[str, Any]], generates: bool) -> dict[str, float]:
    """How many times as long one row takes for a step as another."""
    times = {row["name"]: row["median_ms"] / row["steps"] for row in measured}
    pairs = [("plain", name) for name in times if name != "plain"] if generates else _PAIRS
    return {
        f"{slow}/{fast}": times[slow] / times[fast]
        for slow, fast in pairs
        if slow in times and fast in times
    }


def _published(shape: str, layers: int) -> list[dict[str, Any]]:
    """What others say of a shape at a depth."""
    fields = ("name", "gpu", "forward_backward_ms")
    quoted = [
        dict(zip(fields, row, strict=True)) for row in _FORWARD_BACKWARD.get((shape, layers), ())
    ]
    return quoted + ([_WAVERNN] if shape == "generate_audio" else [])


def table(found: dict[str, Any]) -> str:
    """The same to read."""
    lines = [f"{found['shape']}, {found['device']}"]
    for row in found["rows"]:
        low, middle, high = (row[key] / row["steps"] for key in ("p10_ms", "median_ms", "p90_ms"))
        times = f"{middle:.4f} ms a step [{low:.4f} to {high:.4f}]"
        memory = f"{row['peak_bytes'] / 2**20:,.0f} MiB" if row["peak_bytes"] else ""
        lines.append(f"{row['name']:16}{times:>42}{memory:>12}  {row['variant']}")
    lines += [f"{name} {ratio:.2f}" for name, ratio in found["ratios"].items()]
    for row in found["published"]:
        name, gpu, (key, value) = row["name"], row["gpu"], list(row.items())[-1]
        lines.append(f"published: {name}, {gpu}: {key} {value:g}")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Print the table of a shape, or with json=true all of it."""
    shape, *keys = arguments or [""]
    as_json = "json=true" in keys
    found = measure(shape, keys)
    print(json.dumps(found) if as_json else table(found))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except SeqkitError as error:
        print(f"steps: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
