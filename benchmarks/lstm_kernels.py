"""The recurrent layers alone by the kernels of others, where these libraries are installed.

flashrnn              FlashRNN's fused kernel, in bf16; B is filled up to a multiple of eight
flashrnn_alternating  its other one, which alternates with matrix products
haste                 Haste's LSTM, in fp32

They are called one by one: FlashRNN's calls cannot be recorded as a CUDA graph, and to try that
leaves CUDA unusable. Nothing is fetched; FlashRNN compiles at its first call.
"""

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.timing import Build
from seqkit.config import Config


def builds(config: Config) -> dict[str, Build]:
    """What builds the calls, forward and backward, on ready inputs."""
    found: dict[str, Build] = {}
    if importlib.util.find_spec("flashrnn"):
        found["flashrnn"] = partial(_flashrnn, config, "cuda_fused")
        found["flashrnn_alternating"] = partial(_flashrnn, config, "cuda")
    if importlib.util.find_spec("haste_pytorch"):
        found["haste"] = partial(_haste, config)
    return found


def _flashrnn(config: Config, backend: str) -> Callable[[], object]:
    run: Any = importlib.import_module("flashrnn").flashrnn
    model, train = config.model, config.train
    lanes, hidden = train.batch_size + -train.batch_size % 8, model.hidden_size
    like: dict[str, Any] = {"device": "cuda", "dtype": torch.bfloat16}
    widths = [model.input_width] + [hidden] * (model.num_layers - 1)
    x = torch.randn(lanes, train.sequence_length, widths[0], **like)
    dy = torch.ones(lanes, train.sequence_length, hidden, **like)
    leaves = [
        [torch.randn(shape, **like).mul_(hidden**-0.5).requires_grad_() for shape in shapes]
        for width in widths
        for shapes in [((4 * hidden, width), (4, 1, hidden, hidden), (4, 1, hidden))]
    ]

    def step() -> None:
        y: Tensor = x
        for w, u, b in leaves:
            inputs = F.linear(y, w).view(*y.shape[:2], 4, 1, hidden)
            y = run(inputs, u, b, function="lstm", backend=backend)[0][0].flatten(-2)
        torch.autograd.grad(y, [part for layer in leaves for part in layer], dy)

    return step


def _haste(config: Config) -> Callable[[], object]:
    layer: Any = importlib.import_module("haste_pytorch").LSTM
    model, train = config.model, config.train
    widths = [model.input_width] + [model.hidden_size] * (model.num_layers - 1)
    layers = [layer(width, model.hidden_size).cuda() for width in widths]
    leaves = [part for each in layers for part in each.parameters()]
    x = torch.randn(train.sequence_length, train.batch_size, widths[0], device="cuda")

    def step() -> None:
        y: Tensor = x
        for each in layers:
            y, _ = each(y)
        torch.autograd.grad(y, leaves, torch.ones_like(y))

    return step
