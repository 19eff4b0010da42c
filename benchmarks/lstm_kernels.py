"""Every public LSTM kernel side by side, at a shape of `bench`.

    python benchmarks/lstm_kernels.py shape=text model.hidden_size=768 train.batch_size=64

prints milliseconds [10 % to 90 %] of whole training steps (plain PyTorch's loops, seqkit's), and of
the layers alone, forward and backward: by cuDNN, by seqkit's kernels, and by FlashRNN and Haste
where they can be imported, on ready inputs, in their fastest dtype. These are called one by one:
FlashRNN's calls cannot be recorded as a CUDA graph, and to try that leaves CUDA unusable. Nothing
is fetched. It is a table of docs/measured/speed.md.
"""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from seqkit import compose
from seqkit.bench import plain, training
from seqkit.config import Config
from seqkit.foundation import device
from seqkit.foundation.errors import ConfigError, SeqkitError
from seqkit.kernels.timing import Build, interleave

_FLASHRNN = {"flashrnn, fused": "cuda_fused", "flashrnn, alternating": "cuda"}


def table(overrides: Sequence[str], rounds: int = 5, calls: int = 10) -> str:
    """The table for overrides of `bench`."""
    config = compose.compose(list(overrides), []).config
    if not config.shape:
        raise ConfigError("no shape: give shape=NAME")
    chosen = device.choose_device(config.device)
    rows, execution = training.rows(config, chosen, plain.precisions(chosen))
    best = plain.best_row(config, chosen, plain.precisions(chosen))
    builds = {f"plain_best, {best.variant}": best.build}
    builds |= {name: rows[name].build for name in rows if name != "unrolled"}
    notes = [f"{config.shape}, {device.describe(chosen)}, seqkit: {execution}"]
    for name, build in peers(config).items():
        try:
            step = build()
            step()  # in which FlashRNN compiles and refuses
            torch.cuda.synchronize()
        except Exception as error:  # in ways of their own: compilers, shapes, memory
            notes.append(f"{name} does not run here: {error!r:.200}")
        else:
            builds[name] = partial(_ready, step)
    measured = interleave(builds, chosen, rounds=rounds, calls=calls)
    for name, timing in measured.items():
        low, median, high = (timing.quantile(share) for share in (0.1, 0.5, 0.9))
        notes.append(f"{name:36}{median:9.3f} ms [{low:.3f} to {high:.3f}]")
    return "\n".join(notes)


def peers(config: Config) -> dict[str, Build]:
    """The layers alone, forward and backward, by the kernels of others that are installed."""
    found: dict[str, Build] = {}
    if torch.cuda.is_available() and importlib.util.find_spec("flashrnn"):
        for name, backend in _FLASHRNN.items():
            found[name] = partial(_flashrnn, config, backend)
    if torch.cuda.is_available() and importlib.util.find_spec("haste_pytorch"):
        found["haste, fp32"] = partial(_haste, config)
    return found


def _ready(step: Callable[[], object]) -> Callable[[], object]:
    return step


def _flashrnn(config: Config, backend: str) -> Callable[[], object]:
    """In bf16, one head of H units; its inputs are lanes first."""
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
    """It has fp32 alone."""
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


if __name__ == "__main__":
    try:
        print(table(sys.argv[1:]))
    except SeqkitError as error:
        print(f"lstm_kernels: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
