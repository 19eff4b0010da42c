"""The rows of seqkit at a training shape: its step, and the parts of it.

seqkit                    the whole training step: batch, network, loss, gradient, update
seqkit_forward_backward   of it the network and its loss, forward and backward
bare                      of that the recurrent layers alone, by cuDNN, forward and backward
bare_persistent           the same by the persistent kernel (only where it runs)
bare_grid                 the same by that without clusters (only where it runs)
unrolled                  the whole step with model.backend=unrolled, launched one by one

On a GPU a row is one CUDA graph unless it says otherwise.
"""

import dataclasses
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from seqkit.config import Config, ModelConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.kernels.graph import GraphedCall
from seqkit.kernels.timing import Build, Row
from seqkit.model import fused_calls
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import PERSISTENT, Execution
from seqkit.model.network import cross_entropy
from seqkit.model.persistent_lstm.layer import persistent_layer
from seqkit.model.state import State
from seqkit.training.kernel_choice import choose_execution, supported
from seqkit.training.plan import Plan
from seqkit.training.trainer import Trainer

_WINDOWS = 20  # of each lane in an epoch


def rows(
    config: Config,
    device: torch.device,
    precisions: list[str],
    notice: Callable[[str], None] = lambda text: None,
) -> tuple[dict[str, Row], Execution]:
    """All rows, for symbols drawn uniformly, and how seqkit's rows run.

    Args:
        config: model (with its vocabulary_size), optimizer, train and seed are read.
        device: where to run.
        precisions: of seqkit's rows, the first where they are not timed.
        notice: told what runs otherwise than usual.
    """
    if device.type == "cuda":
        _warm_cublas(device)
    model, lanes = _model(config, config.model, device), _lanes(config)
    choose = partial(
        choose_execution, lanes=lanes, precisions=precisions, timed=config.model.autotune
    )
    execution = by_cudnn = choose(model)
    if execution.kernel in PERSISTENT:
        plain = dataclasses.replace(config.model, backend="cudnn")
        by_cudnn = choose(_model(config, plain, device))
    unrolled = dataclasses.replace(config.model, backend="unrolled")
    slow = Execution("unrolled", precisions[0], execution.lanes)
    record = partial(_recorded, device=device)
    built: dict[str, Build] = {
        "seqkit": partial(_trainer, config, config.model, device, execution, notice),
        "seqkit_forward_backward": partial(record, partial(_network, config, device, execution)),
        "bare": partial(record, partial(_bare, config, device, by_cudnn)),
        "unrolled": partial(_trainer, config, unrolled, device, slow, notice),
    }
    for kernel in PERSISTENT:
        own = Execution(kernel, "fp16", execution.lanes)
        if supported(own, model, lanes, precisions):
            built[f"bare_{kernel}"] = partial(record, partial(_bare, config, device, own))
    symbols = config.train.batch_size * config.train.sequence_length
    return {name: Row(build, symbols) for name, build in built.items()}, execution


def random_symbols(config: Config, count: int) -> Tensor:
    """Symbols (N,) drawn uniformly: only time counts."""
    generator = torch.Generator().manual_seed(config.fixed_seed)
    return torch.randint(config.model.vocabulary_size, (count,), generator=generator)


def window(config: Config, device: torch.device, lanes: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets, each (T, B) with B = lanes."""
    steps = config.train.sequence_length
    symbols = random_symbols(config, (steps + 1) * lanes).view(steps + 1, lanes).to(device)
    return symbols[:-1].contiguous(), symbols[1:].contiguous()


def _warm_cublas(device: torch.device) -> None:
    """Let cuBLAS take its memory for each stream now, so that it counts as no row's own."""
    matrix = torch.zeros(64, 64, device=device)
    GraphedCall(lambda: matrix @ matrix, device)()
    matrix @ matrix


def _model(config: Config, model: ModelConfig, device: torch.device) -> CharRNN:
    return CharRNN(model, torch.Generator().manual_seed(config.fixed_seed)).to(device)


def _lanes(config: Config) -> Lanes:
    train = config.train
    symbols = random_symbols(config, _WINDOWS * train.batch_size * train.sequence_length)
    part = Part(symbols.numpy().astype(np.uint16), np.zeros(1, np.int64))
    return Lanes(part, 0, train.batch_size, train.sequence_length)


def _trainer(
    config: Config,
    settings: ModelConfig,
    device: torch.device,
    execution: Execution,
    notice: Callable[[str], None],
) -> Callable[[], object]:
    model = _model(config, settings, device)
    empty = Part(np.zeros(0, np.uint8), np.zeros(0, np.int64))
    plan = Plan(config.optimizer, config.train, config.fixed_seed, execution)
    trainer = Trainer(model, _lanes(config), empty, plan)
    if (reason := trainer.prepare()) and settings.backend != "unrolled":
        notice(reason)
    return trainer.update


def _network(config: Config, device: torch.device, execution: Execution) -> Callable[[], object]:
    """Forward and backward."""
    model = _model(config, config.model, device)
    network = model.trainable_copy(dtype=execution.dtype, kernel=execution.kernel, separators=False)
    leaves = network.tensors()
    inputs, targets = window(config, device, execution.lanes)
    state = State(*(values.to(leaves[-1].dtype) for values in model.zero_state(execution.lanes)))
    masks = torch.ones_like(state.h) if any(config.model.unit_dropout) else None

    def step() -> None:
        logits, _ = network(inputs, state, masks)
        torch.autograd.grad(cross_entropy(logits, targets), leaves)

    return step


def _recorded(build: Build, device: torch.device) -> Callable[[], object]:
    """What `build` makes, on a GPU as a CUDA graph."""
    step = build()
    return GraphedCall(step, device) if device.type == "cuda" else step


def _bare(config: Config, device: torch.device, execution: Execution) -> Callable[[], object]:
    """The layers alone, at the true width of their input, on ready inputs in their dtype.

    The persistent kernel's inputs are symbols where the network's are, as in training.
    """
    model = _model(config, config.model, device)
    network = model.trainable_copy(dtype=execution.dtype, kernel=execution.kernel, separators=False)
    layers, failed = network.layers, network.failed
    leaves = [part for layer in layers for part in layer]
    shape = (config.train.sequence_length, execution.lanes, config.model.input_width)
    x = torch.randn(shape, device=device, dtype=leaves[0].dtype)
    h = torch.zeros_like(model.zero_state(execution.lanes).h, dtype=x.dtype)
    if execution.kernel in PERSISTENT and config.model.input == "one_hot":
        x = window(config, device, execution.lanes)[0]
    dy = torch.ones((*shape[:2], config.model.hidden_size), device=device, dtype=h.dtype)
    cell = config.model.cell

    def step() -> None:
        y = x
        if execution.kernel == "stacked":
            y = fused_calls.fused_stack(cell, layers, x, h, h).y
        else:
            for index, layer in enumerate(layers):
                state = h[index], h[index]
                if failed is not None:
                    grid = execution.kernel == "grid"
                    y = persistent_layer(layer, y, *state, failed=failed, grid=grid).y
                else:
                    y = fused_calls.fused_layer(cell, layer, y, *state).y
        torch.autograd.grad(y, leaves, dy)

    return step
