"""`bench`: how long training or generation takes at a shape, beside what it is compared with."""

import json
from typing import Any

from seqkit import device, disk
from seqkit.bench import training
from seqkit.commands import bench_generation, material
from seqkit.config import Config
from seqkit.console import Console
from seqkit.errors import ConfigError
from seqkit.kernels.timing import ROUNDS, Timing, interleave
from seqkit.training.kernel_choice import Choice

_SIZES = {"mycaffe": (512, 25, 75), "torch_rnn": (512, 50, 50), "caffe_lstm": (2048, 20, 100)}
"""H, B and T of what is published for a shape."""

_PUBLISHED: dict[str, list[tuple[dict[str, int], str, str, float]]] = {
    "mycaffe": [
        ({"num_layers": 2}, "MyCaffe, its unrolled engine", "Titan Xp", 64.0),
        ({"num_layers": 2}, "MyCaffe, its cuDNN engine (5 times faster)", "Titan Xp", 12.8),
    ],
    "torch_rnn": [
        ({"num_layers": 1}, "torch-rnn", "Titan X", 38.0),
        ({"num_layers": 1}, "char-rnn", "Titan X", 58.0),
        ({"num_layers": 2}, "torch-rnn", "Titan X", 78.0),
        ({"num_layers": 2}, "char-rnn", "Titan X", 108.0),
        ({"num_layers": 3}, "torch-rnn", "Titan X", 117.0),
        ({"num_layers": 3}, "char-rnn", "Titan X", 157.0),
    ],
    "caffe_lstm": [
        ({"num_layers": 3}, "caffe-lstm", "Titan X", 539.0),
        ({"num_layers": 3}, "Donahue's recurrent layer", "Titan X", 726.0),
    ],
}
"""Forward + backward in milliseconds, as their authors published it, by the depth it holds for."""


def run(config: Config, console: Console) -> None:
    """Print median and spread of every row, and their ratios."""
    if not config.shape:
        raise ConfigError("no shape: give shape=NAME; toy, text, audio and mycaffe are some")
    if not config.model.vocabulary_size:
        raise ConfigError("model.vocabulary_size=0: give the number of symbols")
    out = material.free_output(config)
    chosen = device.choose_device(config.device)
    if config.shape in bench_generation.SHAPES:
        bench_generation.run(config, chosen, out, console)
        return
    device.set_deterministic(config.train.deterministic)
    precisions = device.candidate_precisions(config.train.precision, chosen)
    with device.memory_errors(lambda: "Try a smaller train.batch_size."):
        rows, choice = training.rows(config, chosen, precisions, disk.cache_dir(), console.notice)
        with console.progress("bench", len(rows) * (ROUNDS + 1)) as bar:
            timings = interleave(rows, chosen, bar.update)
        peak = training.matrix_peak(chosen, choice.plan.precision)
    result = _result(config, device.describe(chosen), choice, timings, peak)
    material.write_result(out, json.dumps(result) if config.json else _table(result))


def _result(
    config: Config, chosen: str, choice: Choice, timings: dict[str, Timing], peak: float
) -> dict[str, Any]:
    symbols = config.train.batch_size * config.train.sequence_length
    operations = {name: training.operations(config, name) for name in timings}
    medians = {name: timing.quantile(0.5) for name, timing in timings.items()}
    rows = []
    for name, timing in timings.items():
        rate = operations[name] / medians[name] * 1000
        share = {"tflops": rate / 1e12, "share_of_matrix_peak": rate / peak}
        rows.append(timing.row(name, symbols) | share)
    ratios = {
        "seqkit/bare": medians["seqkit"] / medians["bare"],
        "plain/seqkit": medians["plain"] / medians["seqkit"],
        "unrolled/seqkit": medians["unrolled"] / medians["seqkit"],
        "unrolled/seqkit, forward_backward": medians["unrolled_forward_backward"]
        / medians["seqkit_forward_backward"],
    }
    return {
        "shape": config.shape,
        "device": chosen,
        "precision": choice.plan.precision,
        "kernels": str(choice),
        "model": vars(config.model),
        "batch_size": config.train.batch_size,
        "sequence_length": config.train.sequence_length,
        "matrix_peak_tflops": peak / 1e12,
        "rows": rows,
        "ratios": ratios,
        "published": _published(config),
        "versions": material.versions(),
    }


def _published(config: Config) -> list[dict[str, Any]]:
    sizes = _SIZES.get(config.shape or "", ())
    at = dict(zip(("hidden_size", "batch_size", "sequence_length"), sizes, strict=False))
    return [
        {"name": name, "gpu": gpu, "forward_backward_ms": milliseconds, **at}
        for where, name, gpu, milliseconds in _PUBLISHED.get(config.shape or "", [])
        if all(getattr(config.model, key) == value for key, value in where.items())
    ]


def _table(result: dict[str, Any]) -> str:
    model = result["model"]
    lines = [
        f"{result['shape']}: {model['num_layers']} x {model['hidden_size']} {model['cell']}, "
        f"T {result['sequence_length']}, B {result['batch_size']}, V {model['vocabulary_size']}; "
        f"{result['device']}, {result['kernels']}",
        f"{'':28}{'median':>10}{'p10':>10}{'p90':>10}{'symbols/s':>14}{'TFLOP/s':>9}{'memory':>10}",
    ]
    for row in result["rows"]:
        memory = "" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 2**20:.0f} MiB"
        lines.append(
            f"{row['name']:28}{row['median_ms']:>7.2f} ms{row['p10_ms']:>7.2f} ms"
            f"{row['p90_ms']:>7.2f} ms{row['symbols_per_second']:>14,.0f}{row['tflops']:>9.2f}"
            f"{memory:>10}"
        )
    lines += [f"{name:40}{value:>8.2f}" for name, value in result["ratios"].items()]
    if result["published"]:
        at = "H {hidden_size}, T {sequence_length}, B {batch_size}".format(**result["published"][0])
        lines.append(f"published for forward + backward at {at}, on GPUs of their time:")
    for row in result["published"]:
        lines.append(f"  {row['name']}, {row['gpu']}: {row['forward_backward_ms']:g} ms")
    return "\n".join(lines)
