"""What `bench` times at a training shape: seqkit's step, its parts, and what it is compared with.

seqkit                     the whole training step: batch, network, loss, gradient, update
seqkit_forward_backward    of it the network and its loss, forward and backward
bare                       of that the recurrent layers alone, forward and backward
unrolled                   the whole step with model.backend=unrolled
unrolled_forward_backward  of it the network and its loss, forward and backward
plain                      a loop as it is usually written: stacked nn.LSTM, fp32 with TF32,
                           one-hot or embedding, Adam or SGD, clip_grad_norm_, loss.item()
"""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqkit import recurrence
from seqkit.config import Config, ModelConfig
from seqkit.corpus import Lanes, Part
from seqkit.device import mixed_precision
from seqkit.model import CharRNN, DropoutKey, cross_entropy
from seqkit.timing import Build
from seqkit.training import Trainer

_WINDOWS = 20  # of each lane in an epoch


def rows(config: Config, device: torch.device, precision: str) -> dict[str, Build]:
    """The builders of all rows, for symbols drawn uniformly.

    Args:
        config: model (with its vocabulary_size), optimizer, train and seed are read.
        device: where to run.
        precision: fp32, bf16 or fp16, of seqkit's rows.
    """
    unrolled = dataclasses.replace(config.model, backend="unrolled")
    return {
        "seqkit": lambda: _trainer(config, config.model, device, precision).update,
        "seqkit_forward_backward": lambda: _network(config, config.model, device, precision),
        "bare": lambda: _bare(config, device, precision),
        "unrolled": lambda: _trainer(config, unrolled, device, precision).update,
        "unrolled_forward_backward": lambda: _network(config, unrolled, device, precision),
        "plain": lambda: _plain(config, device),
    }


def _symbols(config: Config, count: int) -> Tensor:
    generator = torch.Generator().manual_seed(config.seed)
    return torch.randint(config.model.vocabulary_size, (count,), generator=generator)


def _window(config: Config, device: torch.device) -> tuple[Tensor, Tensor]:
    """Inputs and targets (T, B)."""
    steps, lanes = config.train.sequence_length, config.train.batch_size
    symbols = _symbols(config, (steps + 1) * lanes).view(steps + 1, lanes).to(device)
    return symbols[:-1].contiguous(), symbols[1:].contiguous()


def _model(config: Config, model: ModelConfig, device: torch.device) -> CharRNN:
    return CharRNN(model, torch.Generator().manual_seed(config.seed)).to(device)


def _trainer(config: Config, model: ModelConfig, device: torch.device, precision: str) -> Trainer:
    train = config.train
    symbols = _symbols(config, _WINDOWS * train.batch_size * train.sequence_length)
    part = Part(symbols.numpy().astype(np.uint16), np.zeros(1, np.int64))
    empty = Part(part.symbols[:0], part.starts[:0])
    lanes = Lanes(part, 0, train.batch_size, train.sequence_length)
    return Trainer(
        _model(config, model, device),
        *(lanes, empty, 0, config.optimizer, train, config.seed, precision),
    )


def _network(
    config: Config, settings: ModelConfig, device: torch.device, precision: str
) -> Callable[[], object]:
    model = _model(config, settings, device)
    inputs, targets = _window(config, device)
    state = model.zero_state(config.train.batch_size)

    def step() -> None:
        with mixed_precision(device, precision):
            logits, _ = model(inputs, state, DropoutKey(config.seed, 0))
        for parameter in model.parameters():
            parameter.grad = None
        cross_entropy(logits, targets).backward()  # type: ignore[no-untyped-call]

    return step


def _bare(config: Config, device: torch.device, precision: str) -> Callable[[], object]:
    model = _model(config, config.model, device)
    steps, lanes = config.train.sequence_length, config.train.batch_size
    x = torch.randn(steps, lanes, recurrence.weights_of(model.layers[0]).w.shape[1], device=device)
    state = model.zero_state(lanes)
    weights = [recurrence.weights_of(layer) for layer in model.layers]
    parameters = [part for layer in weights for part in layer]

    def step() -> None:
        y = x
        with mixed_precision(device, precision):
            for index, layer in enumerate(weights):
                y = recurrence.fused(config.model.cell, layer, y, state.h[index], state.c[index]).y
        torch.autograd.grad(y, parameters, torch.ones_like(y))

    return step


def _plain(config: Config, device: torch.device) -> Callable[[], object]:
    settings, train = config.model, config.train
    embedded = settings.input == "embedding"
    width = settings.embedding_size if embedded else settings.vocabulary_size
    hidden, layers = settings.hidden_size, settings.num_layers
    kind = {"lstm": nn.LSTM, "gru": nn.GRU}.get(settings.cell, nn.RNN)
    embedding = nn.Embedding(settings.vocabulary_size, width)
    rnn = kind(width, hidden, layers, dropout=settings.dropout if layers > 1 else 0.0)
    head = nn.Linear(hidden, settings.vocabulary_size)
    net = nn.ModuleList([embedding, rnn, head] if embedded else [rnn, head]).to(device)
    optimizer: torch.optim.Optimizer
    if config.optimizer.kind == "sgd":
        optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=config.optimizer.momentum)
    else:
        optimizer = torch.optim.Adam(net.parameters(), 2e-3)
    inputs, targets = _window(config, device)
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


@contextmanager
def _tf32() -> Iterator[None]:
    """Matrix products in TF32, as most loops allow them on a GPU."""
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before
