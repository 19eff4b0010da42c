"""What `bench` times at a training shape: seqkit's step, its parts, and what it is compared with.

seqkit                     the whole training step: batch, network, loss, gradient, update
seqkit_forward_backward    of it the network and its loss, forward and backward
bare                       of that the recurrent layers alone, forward and backward
unrolled                   the whole step with model.backend=unrolled
unrolled_forward_backward  of it the network and its loss, forward and backward
plain                      a loop as it is usually written: stacked nn.LSTM, fp32 with TF32,
                           one-hot or embedding, Adam or SGD, clip_grad_norm_, loss.item()
nn_lstm                    one stacked nn.LSTM, forward and backward, in its fastest dtype
"""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqkit.config import Config, ModelConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.device import DTYPES
from seqkit.kernels.graph import Recording
from seqkit.kernels.timing import Build, interleave
from seqkit.model import cells, fused
from seqkit.model.cells import GATES
from seqkit.model.char_rnn import CharRNN, layer_weights
from seqkit.model.loss import cross_entropy
from seqkit.model.network import State
from seqkit.training import kernel_choice
from seqkit.training.kernel_choice import Choice
from seqkit.training.step import Plan
from seqkit.training.trainer import Trainer

_WINDOWS = 20  # of each lane in an epoch
_FEW = 5  # calls that tell which dtype is the fastest


def rows(
    config: Config,
    device: torch.device,
    precisions: list[str],
    cache: Path,
    notice: Callable[[str], None] = lambda text: None,
) -> tuple[dict[str, Build], Choice]:
    """The builders of all rows, for symbols drawn uniformly, and how seqkit's rows run.

    Args:
        config: model (with its vocabulary_size), optimizer, train and seed are read.
        device: where to run.
        precisions: of seqkit's rows, the first where nothing is searched.
        cache: for what a search on a GPU finds.
        notice: told what a person should know.
    """
    if device.type == "cuda":
        _warm_cublas(device)
    model, lanes = _model(config, config.model, device), _lanes(config)
    choice = kernel_choice.choose(model, lanes, precisions, cache, config.model.autotune)
    plan, slow = choice.plan, kernel_choice.candidates(model, lanes, precisions)[0]
    unrolled = dataclasses.replace(config.model, backend="unrolled")
    built = {
        "seqkit": lambda: _trainer(config, config.model, device, plan, notice),
        "seqkit_forward_backward": lambda: _network(config, config.model, device, plan),
        "bare": lambda: _bare(config, device, plan),
        "unrolled": lambda: _trainer(config, unrolled, device, slow, notice),
        "unrolled_forward_backward": lambda: _network(config, unrolled, device, slow),
        "plain": lambda: _plain(config, device),
    }
    if config.model.cell == "lstm":
        built["nn_lstm"] = lambda: _nn_lstm(config, device)
    return built, choice


def operations(config: Config, row: str) -> float:
    """Floating-point operations of a row: two a weight and symbol, forward, for dw and for dx.

    The input of the bottom layer has no dx, unless it is an embedding; layers alone have no head.
    """
    model = config.model
    count = 6 * layer_weights(model)
    alone = row in ("bare", "nn_lstm")
    if alone or model.input == "one_hot":
        count -= 2 * GATES[model.cell] * model.hidden_size * model.input_width
    if not alone:
        count += 6 * model.vocabulary_size * model.hidden_size
    return float(count) * config.train.batch_size * config.train.sequence_length


def matrix_peak(device: torch.device, precision: str) -> float:
    """Operations a second of a large matrix product, measured."""
    size = 8192 if device.type == "cuda" else 2048
    a, b = (torch.randn(size, size, device=device, dtype=DTYPES[precision]) for _ in range(2))
    timing = interleave({"product": lambda: lambda: a @ b}, device, rounds=1)["product"]
    return 2.0 * size**3 / timing.quantile(0.5) * 1000


def _warm_cublas(device: torch.device) -> None:
    """Let cuBLAS take its memory for each stream now, so that it counts as no row's own."""
    matrix = torch.zeros(64, 64, device=device)
    Recording(lambda: matrix @ matrix, device)()
    matrix @ matrix


def _symbols(config: Config, count: int) -> Tensor:
    generator = torch.Generator().manual_seed(config.seed)
    return torch.randint(config.model.vocabulary_size, (count,), generator=generator)


def _window(config: Config, device: torch.device, lanes: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets (T, B)."""
    steps = config.train.sequence_length
    symbols = _symbols(config, (steps + 1) * lanes).view(steps + 1, lanes).to(device)
    return symbols[:-1].contiguous(), symbols[1:].contiguous()


def _model(config: Config, model: ModelConfig, device: torch.device) -> CharRNN:
    return CharRNN(model, torch.Generator().manual_seed(config.seed)).to(device)


def _lanes(config: Config) -> Lanes:
    train = config.train
    symbols = _symbols(config, _WINDOWS * train.batch_size * train.sequence_length)
    part = Part(symbols.numpy().astype(np.uint16), np.zeros(1, np.int64))
    return Lanes(part, 0, train.batch_size, train.sequence_length)


def _trainer(
    config: Config,
    settings: ModelConfig,
    device: torch.device,
    plan: Plan,
    notice: Callable[[str], None],
) -> Callable[[], object]:
    model = _model(config, settings, device)
    empty = Part(np.zeros(0, np.uint8), np.zeros(0, np.int64))
    trainer = Trainer(
        model=model,
        lanes=_lanes(config),
        validation=empty,
        start=0,
        optimizer=config.optimizer,
        train=config.train,
        seed=config.seed,
        plan=plan,
    )
    if (reason := trainer.prepare()) and settings.backend == "cudnn":
        notice(reason)
    return trainer.update


def _network(
    config: Config, settings: ModelConfig, device: torch.device, plan: Plan
) -> Callable[[], object]:
    """Forward and backward, launched as the training launches it."""
    model = _model(config, settings, device)
    network = model.leaves(DTYPES[plan.precision], False, plan.one_call)
    leaves = network.tensors()
    inputs, targets = _window(config, device, plan.lanes)
    state = State(*(values.to(leaves[-1].dtype) for values in model.zero_state(plan.lanes)))
    masks = torch.ones_like(state.h) if settings.dropout else None

    def step() -> None:
        logits, _ = network(inputs, state, masks)
        torch.autograd.grad(cross_entropy(logits, targets), leaves)

    if device.type == "cuda" and settings.backend == "cudnn":
        return Recording(step, device)
    return step


def _bare(config: Config, device: torch.device, plan: Plan) -> Callable[[], object]:
    """The layers alone, at the true width of their input, on ready inputs in their dtype."""
    model = _model(config, config.model, device)
    layers = model.leaves(DTYPES[plan.precision], False, plan.one_call).layers
    leaves = [part for layer in layers for part in layer]
    shape = (config.train.sequence_length, plan.lanes, config.model.input_width)
    x = torch.randn(shape, device=device, dtype=leaves[0].dtype)
    h = torch.zeros_like(model.zero_state(plan.lanes).h, dtype=x.dtype)
    dy = torch.ones((*shape[:2], config.model.hidden_size), device=device, dtype=x.dtype)
    cell = config.model.cell

    def step() -> None:
        y = x
        if plan.one_call:
            y = fused.fused_stack(cell, layers, x, h, h).y
        else:
            for index, layer in enumerate(layers):
                y = fused.fused_layer(cell, layer, y, h[index], h[index]).y
        torch.autograd.grad(y, leaves, dy)

    return Recording(step, device) if device.type == "cuda" else step


def _plain(config: Config, device: torch.device) -> Callable[[], object]:
    settings, train = config.model, config.train
    embedded = settings.input == "embedding"
    width, layers = settings.input_width, settings.num_layers
    embedding = nn.Embedding(settings.vocabulary_size, width)
    dropout = settings.dropout if layers > 1 else 0.0
    rnn = cells.make_layer(settings.cell, width, settings.hidden_size, layers, dropout)
    head = nn.Linear(settings.hidden_size, settings.vocabulary_size)
    net = nn.ModuleList([embedding, rnn, head] if embedded else [rnn, head]).to(device)
    optimizer: torch.optim.Optimizer
    if config.optimizer.kind == "sgd":
        optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=config.optimizer.momentum)
    else:
        optimizer = torch.optim.Adam(net.parameters(), 2e-3)
    inputs, targets = _window(config, device, train.batch_size)
    carried: list[Tensor | tuple[Tensor, Tensor] | None] = [None]

    def step() -> None:
        with _tf32():
            x = embedding(inputs) if embedded else F.one_hot(inputs, width).float()
            y, state = rnn(x, carried[0])
            y = F.dropout(y, settings.dropout)
            loss = F.cross_entropy(head(y).flatten(0, 1), targets.flatten())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(net.parameters(), train.clip_norm or 1e9)
            optimizer.step()
            loss.item()
        carried[0] = (
            (state[0].detach(), state[1].detach()) if isinstance(state, tuple) else state.detach()
        )

    return step


def _nn_lstm(config: Config, device: torch.device) -> Callable[[], object]:
    """Of fp32 (with TF32), bf16 and fp16, the one that is fastest here."""
    settings, train = config.model, config.train
    width = settings.input_width

    def build(dtype: torch.dtype) -> Callable[[], object]:
        net = nn.LSTM(width, settings.hidden_size, settings.num_layers).to(device, dtype)
        x = torch.randn(train.sequence_length, train.batch_size, width, device=device, dtype=dtype)
        weights = list(net.parameters())

        def step() -> None:
            with _tf32():
                y, _ = net(x)
                torch.autograd.grad(y, weights, torch.ones_like(y))

        return step

    dtypes = DTYPES if device.type == "cuda" else {"fp32": torch.float32, "bf16": torch.bfloat16}

    def milliseconds(name: str) -> float:
        row: dict[str, Build] = {name: lambda: build(dtypes[name])}
        return interleave(row, device, rounds=1, calls=_FEW)[name].quantile(0.5)

    return build(dtypes[min(dtypes, key=milliseconds)])


@contextmanager
def _tf32() -> Iterator[None]:
    """Matrix products in TF32, as most loops allow them on a GPU."""
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before
