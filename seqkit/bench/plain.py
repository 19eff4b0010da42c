"""What others write: what seqkit's rows are compared with at a training shape.

plain    a loop as it is usually written: stacked nn.LSTM, fp32 with TF32, one-hot or embedding,
         Adam or SGD, clip_grad_norm_, loss.item()
nn_lstm  one stacked nn.LSTM, forward and backward, in its fastest dtype
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqkit.bench.rows import window
from seqkit.config import Config
from seqkit.device import DTYPES
from seqkit.kernels.timing import Build, interleave
from seqkit.model import cells

_FEW = 5  # calls that tell which dtype is the fastest


def plain(config: Config, device: torch.device) -> Callable[[], object]:
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
    inputs, targets = window(config, device, train.batch_size)
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


def nn_lstm(config: Config, device: torch.device) -> Callable[[], object]:
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
