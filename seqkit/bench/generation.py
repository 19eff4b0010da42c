"""The rows of a shape that generates: the engines, and what they are compared with.

plain                   a loop as it is usually written: stacked nn.LSTM, one-hot, one step a call,
                        softmax, multinomial, item()
torch, cuda_graph, ...  the engines, including their draws and the copy of the symbols to the host
onnxruntime_bare        ONNX Runtime's step alone: one call a step, nothing drawn
"""

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from seqkit.config import Config
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.foundation.randomness import uniforms_of_streams
from seqkit.generation.engine import Drawing, Engine
from seqkit.generation.engines.choose import build_engine
from seqkit.generation.sampling import sampling_of
from seqkit.kernels.timing import Build, Row
from seqkit.model import cells
from seqkit.model.char_rnn import CharRNN

SHAPES = ("generate_text", "generate_audio")

_ENGINES = {
    "cuda": {
        "torch": ("torch", "fp32"),
        "cuda_graph": ("cuda_graph", "fp32"),
        "cuda_graph_fp16": ("cuda_graph", "fp16"),
    },
    "cpu": {
        "torch": ("torch", "fp32"),
        "onnx_fp32": ("onnx", "fp32"),
        "onnx_int8": ("onnx", "int8"),
    },
}
"""The rows of engines on each kind of device, each with the engine and its precision."""

_BARE = (
    ("onnxruntime_bare", "onnx_fp32", False),
    ("onnxruntime_bare_int8", "onnx_int8", True),
)
_MANY = 1024  # steps in one call of an engine, unless length says otherwise
_FEW = 64  # at most, where Python makes every step


def rows(config: Config, device: torch.device, notice: Callable[[str], None]) -> dict[str, Row]:
    """All rows that can run here; `notice` is told why others cannot.

    Args:
        config: model (with its vocabulary_size), streams, length, seed and the sampling keys.
        device: where to run.
        notice: told what is left out.
    """
    settings, streams = config.model, config.streams
    model = CharRNN(settings, torch.Generator().manual_seed(config.fixed_seed)).to(device)
    many = config.length or _MANY
    few = min(many, _FEW)
    all_rows = {"plain": Row(partial(_plain, config, few, device), few * streams)}
    for name, (engine, precision) in _ENGINES[device.type].items():
        try:
            built = build_engine(engine, precision, model, settings.vocabulary_size, streams)
        except (ConfigError, DeviceError) as error:
            notice(f"no row {name}: {error}")
            continue
        steps = few if name == "torch" else many
        all_rows[name] = Row(_builder(config, steps, built, model), steps * streams)
    for name, like, int8 in _BARE if settings.frame == 1 else ():  # as `one_step`
        if like in all_rows:
            all_rows[name] = Row(partial(_bare, config, model, few, int8), few * streams)
    return all_rows


def _builder(config: Config, steps: int, engine: Engine, model: CharRNN) -> Build:
    sampling = sampling_of(config)
    state = model.zero_state(config.streams)
    first = np.zeros(config.streams, np.int64)
    streams = range(config.streams)

    def build() -> Callable[[], object]:
        positions = itertools.count(1, steps)

        def generate() -> None:
            draws = uniforms_of_streams(config.fixed_seed, streams, next(positions), steps)
            for _ in engine.sample(Drawing(first, state, [draws], sampling)):
                pass

        return generate

    return build


def _plain(config: Config, steps: int, device: torch.device) -> Callable[[], object]:
    settings, size = config.model, config.model.vocabulary_size
    rnn = cells.make_layer(settings.cell, size, settings.hidden_size, settings.num_layers).to(
        device
    )
    head = nn.Linear(settings.hidden_size, size).to(device)
    temperature = sampling_of(config).temperature or 1.0

    @torch.inference_mode()
    def generate() -> None:
        symbols = torch.zeros(1, config.streams, dtype=torch.int64, device=device)
        state = None
        for _ in range(steps):
            y, state = rnn(F.one_hot(symbols, size).float(), state)
            shares = F.softmax(head(y[0]) / temperature, -1)
            symbols = torch.multinomial(shares, 1).T
            symbols[0, 0].item()

    return generate


def _bare(config: Config, model: CharRNN, steps: int, int8: bool) -> Callable[[], object]:
    from seqkit.generation.engines.onnx import one_step, open_session
    from seqkit.generation.engines.onnx_graph import OnnxStep

    step = OnnxStep(model, config.model.vocabulary_size, int8)
    session = open_session(one_step(step), torch.get_num_threads())
    state = model.zero_state(config.streams)
    feeds = {"symbols": np.zeros(config.streams, np.int64)}
    names = [value.name for value in session.get_inputs()]
    feeds |= {name: getattr(state, name).numpy() for name in names if name != "symbols"}

    def run() -> None:
        for _ in range(steps):
            session.run(None, feeds)

    return run
