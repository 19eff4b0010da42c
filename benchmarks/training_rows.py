"""The rows of a training shape: seqkit's step, its layers alone, and the loops of others.

seqkit           the whole training step: batch, network, loss, gradient, update
bare             of it the recurrent layers alone, by cuDNN or oneDNN, forward and backward
bare_persistent  the same by seqkit's own kernel, where it runs; bare_grid by that without clusters
plain            a loop as it is usually written: stacked nn.LSTM, fp32 with TF32, one-hot or
                 embedding, Adam, clip_grad_norm_, loss.item()
plain_best       the best that plain PyTorch gives: the fastest precision by autocast, a fused
                 optimizer, nothing that waits for the GPU, and there the step as one CUDA graph
flashrnn, haste  the layers alone by these libraries: see `lstm_kernels`

On a GPU a row of seqkit's is one CUDA graph. Every loop trains on one window over and over: only
the update is timed, and none pays for reading batches, as seqkit's own step does.
"""

import dataclasses
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks import lstm_kernels
from benchmarks.timing import Build, interleave
from seqkit.config import Config, ModelConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.foundation.device import candidate_precisions, has_fast_bf16, set_fp32
from seqkit.lstm import DTYPES, Execution, GraphedCall
from seqkit.model.char_rnn import CharRNN
from seqkit.stages.network import choose_execution, task_of
from seqkit.training.step import Plan
from seqkit.training.trainer import Trainer

WARM = 3  # runs before a step is recorded: the optimizer and the loss scaler make their state
_WINDOWS = 20  # of each lane in an epoch
_SCALE = 1024.0  # of the loss in fp16 at first: no update of the few is left out


@dataclass(frozen=True)
class Row:
    """What is timed: what builds the call, and how many symbols each call handles.

    `variant` names the way that was taken where there are several.
    """

    build: Build
    symbols: int
    variant: str = ""


@dataclass(frozen=True)
class Variant:
    """One way to run plain_best: fp32, bf16 or fp16 by autocast; a CUDA graph, or launches."""

    precision: str
    graph: bool

    def __str__(self) -> str:
        arithmetic = "fp32" if self.precision == "fp32" else f"{self.precision} autocast"
        return arithmetic + (", CUDA graph" if self.graph else "")


def rows(config: Config, device: torch.device) -> dict[str, Row]:
    """All rows that can run here, for symbols drawn uniformly."""
    if device.type == "cuda":
        _warm_cublas(device)
    precisions = candidate_precisions(config.train.precision, device)
    model, lanes = _model(config, config.model, device), random_lanes(config)
    execution = by_cudnn = choose_execution(task_of(model, lanes), precisions)
    if execution.persistent:
        settings = dataclasses.replace(config.model, backend="cudnn")
        task = task_of(_model(config, settings, device), lanes)
        by_cudnn = choose_execution(task, precisions)
    built: dict[str, tuple[Build, object]] = {
        "seqkit": (partial(_trained, config, device, execution), execution),
        "bare": (partial(_bare, config, device, by_cudnn), by_cudnn),
    }
    for kernel in ("persistent", "grid"):
        own = Execution(kernel, "fp16", execution.lanes)
        if "fp16" in precisions and task_of(model, lanes).runs(own):
            built[f"bare_{kernel}"] = (partial(_bare, config, device, own), own)
    built["plain"] = (partial(plain_step, config, device), "")
    best = _fastest(config, device)
    built["plain_best"] = (partial(best_step, config, device, best), best)
    if device.type == "cuda":
        built |= {name: (build, "") for name, build in lstm_kernels.builds(config).items()}
    count = config.train.batch_size * config.train.sequence_length
    return {name: Row(build, count, str(variant)) for name, (build, variant) in built.items()}


def random_lanes(config: Config) -> Lanes:
    """Lanes of symbols drawn uniformly: only time counts."""
    lanes, steps = config.train.batch_size, config.train.sequence_length
    symbols = np.random.default_rng(0).integers(
        config.model.vocabulary_size, size=_WINDOWS * lanes * steps, dtype=np.uint16
    )
    return Lanes(Part.of(symbols), 0, lanes, steps)


def _window(config: Config, device: torch.device, lanes: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets, each (T, B) with B = lanes."""
    generator = torch.Generator().manual_seed(0)
    shape = config.train.sequence_length + 1, lanes
    symbols = torch.randint(config.model.vocabulary_size, shape, generator=generator).to(device)
    return symbols[:-1].contiguous(), symbols[1:].contiguous()


def _warm_cublas(device: torch.device) -> None:
    """Let cuBLAS take its memory for each stream now, so that it counts as no row's own."""
    matrix = torch.zeros(64, 64, device=device)
    GraphedCall(lambda: matrix @ matrix, device)()
    matrix @ matrix


def _model(config: Config, model: ModelConfig, device: torch.device) -> CharRNN:
    return CharRNN(model, torch.Generator().manual_seed(0)).to(device)


def _trained(config: Config, device: torch.device, execution: Execution) -> Callable[[], object]:
    model, empty = _model(config, config.model, device), np.zeros(0, np.uint8)
    plan = Plan(config.optimizer, config.train, 0, execution)
    trainer = Trainer(model, random_lanes(config), Part(empty, empty.astype(int)), plan)
    trainer.prepare()
    return trainer.update


def _bare(config: Config, device: torch.device, execution: Execution) -> Callable[[], object]:
    """The layers alone, at the true width of their input, on ready inputs in their dtype.

    The persistent kernel's inputs are symbols where the network's are, as in training.
    """
    model = _model(config, config.model, device)
    layers = model.runnable_weights(dtype=execution.dtype, kernel=execution.kernel).layers
    leaves = [part.detach().requires_grad_() for part in layers.tensors()]
    layers = layers.with_tensors(leaves)
    shape = (config.train.sequence_length, execution.lanes, config.model.input_width)
    x = torch.randn(shape, device=device, dtype=leaves[0].dtype)
    h = torch.zeros_like(model.zero_state(execution.lanes).h, dtype=x.dtype)
    if layers.reads_symbols and config.model.input == "one_hot":
        x = _window(config, device, execution.lanes)[0]
    dy = torch.ones((*shape[:2], config.model.hidden_size), device=device, dtype=h.dtype)

    def step() -> None:
        outputs, _, _ = layers(x, h, h)
        torch.autograd.grad(outputs[-1], leaves, dy)

    return GraphedCall(step, device) if device.type == "cuda" else step


def _fastest(config: Config, device: torch.device) -> Variant:
    """The variant of plain_best that is the fastest here, by a short measurement of each alone."""
    precisions, graphs = ["fp32", "bf16"] if has_fast_bf16() else ["fp32"], [False]
    if device.type == "cuda":
        precisions, graphs = list(DTYPES), [True, False]
    milliseconds: dict[Variant, float] = {}
    for variant in (Variant(precision, graph) for precision in precisions for graph in graphs):
        build = {"plain_best": partial(best_step, config, device, variant)}
        try:
            timing = interleave(build, device, rounds=1, calls=5)["plain_best"]
        except RuntimeError:  # it cannot run or be recorded here
            continue
        milliseconds[variant] = statistics.median(timing)
    return min(milliseconds, key=milliseconds.__getitem__)


def plain_step(config: Config, device: torch.device) -> Callable[[], float]:
    """The usual loop; each call is an update and returns the loss."""
    size, train = config.model.vocabulary_size, config.train
    net = _Net(config, lambda symbols: F.one_hot(symbols, size).float()).to(device)
    optimizer = _optimizer(net)
    inputs, targets = _window(config, device, train.batch_size)
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
    optimizer = _optimizer(net, fused=True, capturable=variant.graph)
    scaler = torch.amp.GradScaler(
        device.type, init_scale=_SCALE, enabled=variant.precision == "fp16"
    )
    inputs, targets = _window(config, device, train.batch_size)
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
        size = (model.input_width, model.hidden_size, model.num_layers)
        embedded = model.input == "embedding"
        self.embedding = (
            nn.Embedding(model.vocabulary_size, model.embedding_size) if embedded else None
        )
        self.one_hot = one_hot
        self.rnn = nn.LSTM(*size, dropout=model.dropout * (model.num_layers > 1))
        self.head = nn.Linear(model.hidden_size, model.vocabulary_size)
        self.dropout = model.dropout

    def zero_state(self, lanes: int, device: torch.device) -> tuple[Tensor, ...]:
        """h and c, each (L, B, H)."""
        shape = (self.rnn.num_layers, lanes, self.rnn.hidden_size)
        return torch.zeros(shape, device=device), torch.zeros(shape, device=device)

    def forward(
        self, symbols: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Logits (T, B, V) and the next state, of symbols (T, B)."""
        x = self.one_hot(symbols) if self.embedding is None else self.embedding(symbols)
        y, after = self.rnn(x, state)
        return self.head(F.dropout(y, self.dropout)), after


def _optimizer(
    net: nn.Module, *, fused: bool = False, capturable: bool = False
) -> torch.optim.Optimizer:
    """Adam; fused=False is PyTorch's own choice."""
    return torch.optim.Adam(net.parameters(), 2e-3, fused=fused or None, capturable=capturable)


@contextmanager
def _tf32() -> Iterator[None]:
    """Matrix products in TF32, as most loops allow them on a GPU."""
    before = set_fp32("tf32", "tf32")
    try:
        yield
    finally:
        set_fp32(*before)
