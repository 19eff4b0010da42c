"""The rows of a shape that generates: the engines, and what they are compared with.

plain                   a loop as it is usually written: stacked nn.LSTM, one-hot, one step a call,
                        softmax, multinomial, item()
torch, cuda_graph, ...  the engines, including their draws and the copy of the symbols to the host
onnxruntime_bare        ONNX Runtime's step alone: one call a step, nothing drawn
"""

import itertools
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from seqkit.bench.rows import Row
from seqkit.config import Config
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.foundation.randomness import uniforms_of_streams
from seqkit.generation.engine import Engine
from seqkit.generation.engines.cuda_graph import CudaGraphEngine
from seqkit.generation.engines.fused import FusedEngine
from seqkit.generation.engines.pytorch import TorchEngine
from seqkit.generation.sampling import sampling_of
from seqkit.kernels.timing import Build
from seqkit.model import cells
from seqkit.model.char_rnn import CharRNN

SHAPES = ("generate_text", "generate_audio")

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
    generator = torch.Generator().manual_seed(config.fixed_seed)
    model = CharRNN(settings, generator).to(device)
    size = settings.vocabulary_size
    engines: dict[str, Callable[[], Engine]] = {"torch": lambda: TorchEngine(model, size)}
    bare: dict[str, Row] = {}
    many = config.length or _MANY
    few = min(many, _FEW)
    if device.type == "cuda":
        engines |= {
            "cuda_graph": lambda: CudaGraphEngine(model, size, streams, "fp32"),
            "cuda_graph_fp16": lambda: CudaGraphEngine(model, size, streams, "fp16"),
            "fused": lambda: FusedEngine(model, size, streams),
        }
    else:
        try:
            from seqkit.generation.engines.onnx import OnnxEngine
        except ImportError:
            notice("no rows of ONNX Runtime: pip install 'seqkit[onnx]'")
        else:
            engines |= {
                "onnx_fp32": lambda: OnnxEngine(model, size, "fp32"),
                "onnx_int8": lambda: OnnxEngine(model, size, "int8"),
            }
            bare = {
                "onnxruntime_bare": Row(
                    lambda: _bare(config, model, few, int8=False), few * streams
                ),
                "onnxruntime_bare_int8": Row(
                    lambda: _bare(config, model, few, int8=True), few * streams
                ),
            }
    found = {"plain": Row(lambda: _plain(config, few, device), few * streams)}
    for name, make in engines.items():
        try:
            engine = make()
        except (ConfigError, DeviceError) as error:
            notice(f"no row {name}: {error}")
            continue
        steps = few if name == "torch" else many
        found[name] = Row(_builder(config, steps, engine, model), steps * streams)
    return found | bare


def _builder(config: Config, steps: int, engine: Engine, model: CharRNN) -> Build:
    sampling = sampling_of(config)
    state = model.zero_state(config.streams)
    first = np.zeros(config.streams, np.int64)

    def build() -> Callable[[], object]:
        positions = itertools.count(1, steps)

        def generate() -> None:
            draws = uniforms_of_streams(config.fixed_seed, config.streams, next(positions), steps)
            for _ in engine.sample(first, state, [draws], sampling):
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

    size = config.model.vocabulary_size
    session = open_session(one_step(OnnxStep(model, size, int8)))
    state = model.zero_state(config.streams)
    feeds = {"symbols": np.zeros(config.streams, np.int64)}
    names = [value.name for value in session.get_inputs()]
    feeds |= {name: getattr(state, name).numpy() for name in names if name != "symbols"}

    def run() -> None:
        for _ in range(steps):
            session.run(None, feeds)

    return run
