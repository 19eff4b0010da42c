"""Training loops that others write: what seqkit's rows are compared to.

plain       a loop as it is usually written: stacked nn.LSTM, fp32 with TF32, one-hot or embedding,
            Adam or SGD, clip_grad_norm_, loss.item()
plain_best  the best that a good engineer gets from plain PyTorch in an hour: autocast, a fused
            optimizer, nothing that waits for the GPU, and there the whole step as one CUDA graph;
            of the precisions the one that is fastest here

torch.compile is not among them: it leaves nn.LSTM to eager mode, and a CUDA graph already takes
away the launches around it. Every loop trains on the same window over and over, so that only
the update is timed; none pays for reading batches, as seqkit's own step does.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqkit.bench.training import window
from seqkit.config import Config
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.device import DTYPES, has_fast_bf16, set_fp32
from seqkit.kernels.graph import GraphedCall
from seqkit.kernels.timing import Row, fastest
from seqkit.model import cells

WARM = 3  # runs before a step is recorded: the optimizer and the loss scaler make their state
_SCALE = 1024.0  # of the loss in fp16 at first: fused SGD cannot leave out its very first update


@dataclass(frozen=True)
class Variant:
    """One way to run plain_best: fp32, bf16 or fp16 by autocast; a CUDA graph, or launches."""

    precision: str
    graph: bool

    def __str__(self) -> str:
        arithmetic = "fp32" if self.precision == "fp32" else f"{self.precision} autocast"
        return arithmetic + (", CUDA graph" if self.graph else "")


def rows(config: Config, device: torch.device, progress: Progress = unseen) -> dict[str, Row]:
    """plain and plain_best, whose variant is chosen here."""
    symbols = config.train.batch_size * config.train.sequence_length
    return {
        "plain": Row(partial(plain_step, config, device), symbols),
        "plain_best": best_row(config, device, precisions(device), progress),
    }


def best_row(
    config: Config, device: torch.device, allowed: Sequence[str], progress: Progress = unseen
) -> Row:
    """plain_best in the fastest of the precisions that are allowed."""
    graphs = [True, False] if device.type == "cuda" else [False]
    variants = [Variant(precision, graph) for precision in allowed for graph in graphs]
    loops = {str(variant): partial(best_step, config, device, variant) for variant in variants}
    best = fastest(loops, device, progress)
    return Row(loops[best], config.train.batch_size * config.train.sequence_length, best)


def precisions(device: torch.device) -> list[str]:
    """Those that this device does not have to emulate."""
    if device.type == "cuda":
        return list(DTYPES)
    return ["fp32", "bf16"] if has_fast_bf16() else ["fp32"]


def plain_step(config: Config, device: torch.device) -> Callable[[], float]:
    """The usual loop; each call is an update and returns the loss."""
    size, train = config.model.vocabulary_size, config.train
    with _tf32():
        net = _Net(config, lambda symbols: F.one_hot(symbols, size).float()).to(device)
    optimizer = _optimizer(config, net)
    inputs, targets = window(config, device, train.batch_size)
    state = net.zero_state(train.batch_size, device)

    def step() -> float:
        nonlocal state
        with _tf32():
            logits, after = net(inputs, state)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(net.parameters(), train.clip_norm or 1e9)
            optimizer.step()
        state = tuple(values.detach() for values in after)
        return loss.item()

    return step


def best_step(config: Config, device: torch.device, variant: Variant) -> Callable[[], Tensor]:
    """The best loop; each call is an update and returns the loss, which stays on the device.

    Raises:
        RuntimeError: this device cannot run or record the variant.
    """
    train, dtype = config.train, DTYPES[variant.precision]
    eye = torch.eye(config.model.vocabulary_size, dtype=dtype, device=device)
    net = _Net(config, lambda symbols: F.embedding(symbols, eye)).to(device)
    optimizer = _optimizer(config, net, fused=True, capturable=variant.graph)
    scaler = torch.amp.GradScaler(
        device.type, init_scale=_SCALE, enabled=variant.precision == "fp16"
    )
    inputs, targets = window(config, device, train.batch_size)
    state = net.zero_state(train.batch_size, device)
    last = torch.zeros((), device=device)

    def step() -> Tensor:
        casts = torch.autocast(device.type, dtype) if dtype != torch.float32 else nullcontext()
        with _tf32():
            with casts:
                logits, after = net(inputs, state)
                loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            optimizer.zero_grad()
            scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            scaler.unscale_(optimizer)
            if train.clip_norm:
                nn.utils.clip_grad_norm_(net.parameters(), train.clip_norm)
            scaler.step(optimizer)
            scaler.update()
        with torch.no_grad():
            for kept, values in zip(state, after, strict=True):
                kept.copy_(values)
            return last.copy_(loss)

    if not variant.graph:
        return step
    recording = GraphedCall(step, device, WARM)

    def replay() -> Tensor:
        recording()
        return last

    return replay


class _Net(nn.Module):
    """Embedding or one-hot, PyTorch's stack of layers, and a linear layer."""

    def __init__(self, config: Config, one_hot: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        model = config.model
        dropout = model.dropout if model.num_layers > 1 else 0.0
        size = (model.input_width, model.hidden_size, model.num_layers)
        embedded = model.input == "embedding"
        self.embedding = (
            nn.Embedding(model.vocabulary_size, model.embedding_size) if embedded else None
        )
        self.one_hot = one_hot
        self.rnn = cells.make_layer(model.cell, *size, dropout)
        self.head = nn.Linear(model.hidden_size, model.vocabulary_size)
        self.dropout = model.dropout

    def zero_state(self, lanes: int, device: torch.device) -> tuple[Tensor, ...]:
        """h and, for the LSTM, c, each (L, B, H)."""
        shape = (self.rnn.num_layers, lanes, self.rnn.hidden_size)
        count = 2 if isinstance(self.rnn, nn.LSTM) else 1
        return tuple(torch.zeros(shape, device=device) for _ in range(count))

    def forward(
        self, symbols: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Logits (T, B, V) and the next state, of symbols (T, B)."""
        x = self.one_hot(symbols) if self.embedding is None else self.embedding(symbols)
        carried = state if isinstance(self.rnn, nn.LSTM) else state[0]
        y, after = self.rnn(x, carried)
        logits = self.head(F.dropout(y, self.dropout))
        return logits, after if isinstance(after, tuple) else (after,)


def _optimizer(
    config: Config, net: nn.Module, *, fused: bool = False, capturable: bool = False
) -> torch.optim.Optimizer:
    """Adam, or SGD as in MyCaffe; fused=None is PyTorch's own choice."""
    if config.optimizer.kind == "sgd":
        momentum = config.optimizer.momentum
        return torch.optim.SGD(net.parameters(), 0.05, momentum, fused=fused or None)
    return torch.optim.Adam(net.parameters(), 2e-3, fused=fused or None, capturable=capturable)


@contextmanager
def _tf32() -> Iterator[None]:
    """Matrix products in TF32, as most loops allow them on a GPU."""
    before = set_fp32("tf32", "tf32")
    try:
        yield
    finally:
        set_fp32(*before)
