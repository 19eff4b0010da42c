"""seqkit.lstm.LSTM beside torch.nn.LSTM, eager, by autocast to 16 bits: times, overhead, gradients.

    python -m benchmarks.layer layer.json

takes about 70 seconds of a GPU. The file is written anew after each row. A row of times has, of
each pass, the median milliseconds of `cudnn` (torch.nn.LSTM), `auto` and `persistent`; a row of
overhead has the microseconds of a CPU, and those over cuDNN's. Nothing else should use the CPU.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from seqkit.foundation import disk
from seqkit.lstm import LSTM, KernelError, cells, milliseconds
from seqkit.lstm.cells import LayerWeights

GPU = torch.device("cuda", 0)
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
TURNS, CALLS, TURN_MS = 5, 20, 40.0  # of each row: turns, and how long one is at most
Step = Callable[[], object]


@dataclass(frozen=True)
class Shape:
    """H, B, T, L and X of a call, and the 16 bits it computes in."""

    hidden: int
    lanes: int
    steps: int
    layers: int
    inputs: int
    precision: str


SHAPES = [
    Shape(128, 1, 16, 1, 32, "fp16"),
    Shape(128, 32, 64, 1, 64, "bf16"),
    Shape(128, 512, 128, 2, 64, "fp16"),
    Shape(128, 64, 1024, 1, 1, "fp16"),
    Shape(128, 128, 256, 2, 16, "bf16"),
    Shape(192, 20, 100, 3, 40, "fp16"),
    Shape(256, 1, 1024, 1, 64, "fp16"),
    Shape(256, 32, 64, 2, 256, "bf16"),
    Shape(256, 64, 128, 1, 80, "fp16"),
    Shape(256, 128, 512, 3, 80, "bf16"),
    Shape(256, 512, 16, 1, 256, "fp16"),
    Shape(256, 256, 256, 2, 128, "fp16"),
    Shape(384, 32, 64, 2, 384, "fp16"),
    Shape(384, 100, 128, 1, 200, "bf16"),
    Shape(512, 1, 16, 1, 512, "bf16"),
    Shape(512, 8, 256, 2, 512, "fp16"),
    Shape(512, 32, 128, 1, 512, "fp16"),
    Shape(512, 50, 50, 2, 65, "fp16"),
    Shape(512, 128, 128, 2, 512, "fp16"),
    Shape(512, 128, 128, 2, 512, "bf16"),
    Shape(512, 512, 64, 3, 512, "fp16"),
    Shape(512, 64, 1024, 2, 80, "bf16"),
    Shape(640, 64, 64, 2, 640, "bf16"),
    Shape(768, 32, 128, 2, 768, "fp16"),
    Shape(768, 64, 256, 1, 80, "bf16"),
    Shape(1024, 1, 128, 1, 1024, "fp16"),
    Shape(1024, 16, 64, 3, 1024, "bf16"),
    Shape(1024, 64, 128, 2, 1024, "fp16"),
    Shape(1024, 128, 256, 1, 1024, "bf16"),
    Shape(1024, 512, 64, 2, 1024, "fp16"),
]
TINY = [Shape(64, 1, 1, layers, 64, "fp16") for layers in (1, 2)]
EXACT = [
    Shape(256, 32, 64, 2, 80, "fp16"),
    Shape(512, 25, 100, 1, 65, "fp16"),
    Shape(512, 16, 64, 2, 512, "bf16"),
    Shape(1024, 8, 32, 1, 64, "bf16"),
]


def modules(shape: Shape) -> dict[str, nn.LSTM]:
    """The same weights in PyTorch's module and in ours, of both kinds."""
    sizes = shape.inputs, shape.hidden, shape.layers
    theirs = nn.LSTM(*sizes, device=GPU)
    made = {kernel: LSTM(*sizes, device=GPU, kernel=kernel) for kernel in ("auto", "persistent")}
    for module in made.values():
        module.load_state_dict(theirs.state_dict())
    return {"cudnn": theirs, **made}


def step(module: nn.LSTM, shape: Shape, learns: bool) -> Step:
    """What is timed: a forward pass, or both passes."""
    dtype = DTYPES[shape.precision]
    x = torch.randn(shape.steps, shape.lanes, shape.inputs, device=GPU)
    dy = torch.randn(shape.steps, shape.lanes, shape.hidden, device=GPU, dtype=dtype)
    leaves = [*module.parameters()]

    def run() -> None:
        with torch.set_grad_enabled(learns):
            with torch.autocast("cuda", dtype):
                y, _ = module(x)
            if learns:
                torch.autograd.grad(y, leaves, dy)

    return run


def in_turns(steps: dict[str, Step]) -> dict[str, float]:
    """The median milliseconds of each; they take turns."""
    slowest = max(milliseconds(run, 3, GPU)[-1] for run in steps.values())
    count = max(1, min(CALLS, int(TURN_MS / slowest)))
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(TURNS):
        for name, run in steps.items():
            times[name] += milliseconds(run, count, GPU)
    return {name: statistics.median(values) for name, values in times.items()}


def row_of_times(shape: Shape) -> dict[str, Any]:
    """Both passes and the forward pass alone; and the seconds that the first calls took."""
    found: dict[str, Any] = {}
    made = modules(shape)
    for name, learns in (("both", True), ("forward", False)):
        steps = {kind: step(module, shape, learns) for kind, module in made.items()}
        begun = time.perf_counter()
        try:
            steps["persistent"]()
        except KernelError as error:
            found["refused"] = str(error)
            del steps["persistent"]
        steps["auto"]()
        torch.cuda.synchronize()
        found[f"{name}_first_seconds"] = time.perf_counter() - begun
        found[name] = in_turns(steps)
        found[f"{name}_gain"] = found[name]["cudnn"] / found[name]["auto"]
    found["peak_bytes"] = torch.cuda.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    return found


def row_of_overhead(shape: Shape) -> dict[str, Any]:
    """The microseconds of the CPU in a call of which a GPU has hardly anything to do."""
    found: dict[str, Any] = {}
    for name, learns in (("both", True), ("forward", False)):
        steps = {kind: step(module, shape, learns) for kind, module in modules(shape).items()}
        times: dict[str, list[float]] = {kind: [] for kind in steps}
        for turn in range(11):
            for kind, run in steps.items():
                torch.cuda.synchronize()
                begun = time.perf_counter()
                for _ in range(20):
                    run()
                if turn:  # the first warms up
                    times[kind].append((time.perf_counter() - begun) / 20 * 1e6)
        found[name] = {kind: statistics.median(values) for kind, values in times.items()}
        theirs = found[name]["cudnn"]
        found[f"{name}_over"] = {kind: value - theirs for kind, value in found[name].items()}
    return found


def row_of_errors(shape: Shape) -> dict[str, Any]:
    """Of outputs and gradients the norm of the error against fp64, over the norm."""
    generator = torch.Generator(GPU).manual_seed(1)
    state = shape.layers, shape.lanes, shape.hidden
    sizes = (shape.steps, shape.lanes, shape.inputs), state, state
    x, h, c = (torch.randn(size, generator=generator, device=GPU) for size in sizes)
    y_size = shape.steps, shape.lanes, shape.hidden
    dy = torch.randn(y_size, generator=generator, device=GPU)
    resets = torch.rand(y_size[:2], generator=generator, device=GPU) < 0.05
    made = modules(shape)
    weights = made["cudnn"].state_dict()
    exact = {over: exact_results(weights, (x, h, c), dy, over) for over in (None, resets)}
    found: dict[str, Any] = {}
    dtype = DTYPES[shape.precision]
    made["cudnn, cast"] = deepcopy(made["cudnn"]).to(dtype)  # autocast gives cuDNN fp16 always
    for kind, over in (*((kind, None) for kind in made), ("persistent", resets)):
        module = made[kind]
        given = {} if over is None else {"resets": over}
        cast = dtype if kind == "cudnn, cast" else x.dtype
        leaves = [value.to(cast, copy=True).requires_grad_() for value in (x, h, c)]
        with torch.autocast("cuda", dtype, enabled=cast != dtype):
            y, (h_last, c_last) = module(leaves[0], (leaves[1], leaves[2]), **given)
        out = y, h_last, c_last
        gradients = torch.autograd.grad(y, [*leaves, *module.parameters()], dy.to(y.dtype))
        names = ["y", "h", "c", "dx", "dh0", "dc0", *(f"d{name}" for name in weights)]
        pairs = zip(names, (*out, *gradients), exact[over], strict=True)
        errors = {name: ((a - b).norm() / (b.norm() + 1e-12)).item() for name, a, b in pairs}
        found[kind if over is None else f"{kind}, resets"] = errors
    return found


def exact_results(
    weights: dict[str, Tensor], given: tuple[Tensor, ...], dy: Tensor, resets: Tensor | None
) -> list[Tensor]:
    """Outputs, state and gradients by the equations in fp64; resets are before their steps."""
    leaves = [value.double().requires_grad_() for value in (*given, *weights.values())]
    y, h, c = leaves[:3]
    last = []
    for layer in range(len(h)):
        each = LayerWeights(*leaves[3 + 4 * layer : 7 + 4 * layer])
        state, outputs = (h[layer], c[layer]), []
        for t in range(len(y)):
            if resets is not None:
                over = resets[t, :, None]
                state = state[0].masked_fill(over, 0), state[1].masked_fill(over, 0)
            out = cells.unrolled("lstm", each, y[t : t + 1], *state)
            state = out.h, out.c
            outputs.append(out.h)
        y = torch.stack(outputs)
        last.append(state)
    gradients = torch.autograd.grad(y, leaves, dy.double())
    return [y, *(torch.stack(values) for values in zip(*last, strict=True)), *gradients]


def rows() -> Iterator[tuple[str, Shape, Callable[[Shape], dict[str, Any]]]]:
    """What is measured, the short things first."""
    yield from (("errors", shape, row_of_errors) for shape in EXACT)
    yield from (("overhead", shape, row_of_overhead) for shape in TINY)
    yield from (("times", shape, row_of_times) for shape in SHAPES)


def compile_all() -> None:
    """Compile the kernels of all shapes side by side."""

    def first_call(shape: Shape) -> None:
        layer = LSTM(shape.inputs, shape.hidden, device=GPU, kernel="persistent")
        x = torch.zeros(1, shape.lanes, shape.inputs, device=GPU)
        with (
            suppress(KernelError),
            torch.no_grad(),
            torch.autocast("cuda", DTYPES[shape.precision]),
        ):
            layer(x)

    LSTM(1, 64)(torch.zeros(1, 1, 1))  # a first call imports what threads had better not
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(first_call, SHAPES))


def main(file: Path) -> None:
    """Measure everything and keep it in the file."""
    begun = time.perf_counter()
    found: list[dict[str, Any]] = []
    about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}

    def keep(row: dict[str, Any]) -> None:
        found.append({**row, "at_second": round(time.perf_counter() - begun, 1)})
        with disk.atomic_write(file) as stream:
            stream.write(json.dumps({**about, "rows": found}, indent=1).encode())
        print(json.dumps(found[-1]), flush=True)

    compile_all()
    for kind, shape, measure in rows():
        try:
            keep({"row": kind, **asdict(shape), **measure(shape)})
        except (RuntimeError, ValueError) as error:
            keep({"row": kind, **asdict(shape), "error": f"{type(error).__name__}: {error}"})
    gains = {
        name: [row[f"{name}_gain"] for row in found if f"{name}_gain" in row]
        for name in ("both", "forward")
    }
    means = {name: statistics.geometric_mean(each) for name, each in gains.items() if each}
    least = {name: min(each) for name, each in gains.items() if each}
    keep({"row": "gain", "geometric_mean": means, "least": least})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
