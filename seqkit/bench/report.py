"""What `bench` says: one dict for JSON, and the same as a table; beside times of others."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from seqkit.config import Config
from seqkit.foundation import device
from seqkit.kernels.timing import Row, Timing
from seqkit.model.execution import Execution

_SAMPLE_RATE = 16000  # Hz, that real time is measured against
_TRAINING_RATIOS = (
    ("seqkit", "bare"),
    ("bare", "bare_persistent"),
    ("bare", "bare_grid"),
    ("plain", "seqkit"),
    ("plain_best", "seqkit"),
    ("unrolled", "seqkit"),  # what model.backend=unrolled costs, on a GPU with its launches
)
_ENGINE_RATIOS = (
    ("onnxruntime_bare", "onnx_fp32"),
    ("onnxruntime_bare_int8", "onnx_int8"),
)
_QUANTILES = ("median_ms", "p10_ms", "p90_ms")

# Times that other authors published, quoted here and not measured.
_SIZES = {
    "mycaffe": {"hidden_size": 512, "batch_size": 25, "sequence_length": 75},
    "torch_rnn": {"hidden_size": 512, "batch_size": 50, "sequence_length": 50},
    "caffe_lstm": {"hidden_size": 2048, "batch_size": 20, "sequence_length": 100},
}
"""What the published times of a shape hold for, whatever is timed here."""

_TRAINING = {
    "mycaffe": [
        (2, "MyCaffe, unrolled engine", "Titan Xp", 64.0),
        (2, "MyCaffe, cuDNN engine (it says 5 times faster)", "Titan Xp", 12.8),
    ],
    "torch_rnn": [
        (1, "torch-rnn", "Titan X", 38.0),
        (1, "char-rnn", "Titan X", 58.0),
        (2, "torch-rnn", "Titan X", 78.0),
        (2, "char-rnn", "Titan X", 108.0),
        (3, "torch-rnn", "Titan X", 117.0),
        (3, "char-rnn", "Titan X", 157.0),
    ],
    "caffe_lstm": [
        (3, "caffe-lstm", "Titan X", 539.0),
        (3, "Donahue's recurrent layer", "Titan X", 726.0),
    ],
}
"""Forward + backward in milliseconds at one depth of a shape."""

_FIELDS = ("num_layers", "name", "gpu", "forward_backward_ms")

_GENERATION = {
    "generate_audio": [
        {"name": "WaveRNN's persistent kernel", "gpu": "P100", "symbols_per_second": 96000},
    ],
}


def training_result(
    config: Config,
    chosen: torch.device,
    rows: Mapping[str, Row],
    timings: Mapping[str, Timing],
    execution: Execution,
) -> dict[str, Any]:
    """The times of a training shape."""
    measured = _rows(rows, timings)
    medians = {row["name"]: row["median_ms"] for row in measured}
    return {
        "shape": config.shape,
        "device": device.describe(chosen),
        "model": vars(config.model),
        "precision": execution.precision,
        "kernels": str(execution),
        "batch_size": config.train.batch_size,
        "sequence_length": config.train.sequence_length,
        "rows": measured,
        "ratios": _ratios(medians, _TRAINING_RATIOS),
        "published": published(config),
    }


def generation_result(
    config: Config, chosen: torch.device, rows: Mapping[str, Row], timings: Mapping[str, Timing]
) -> dict[str, Any]:
    """The times of a shape that generates; sound is set against real time at 16 kHz."""
    measured = _rows(rows, timings)
    for row in measured:
        row["steps"] = rows[row["name"]].symbols // config.streams
        if config.shape == "generate_audio":
            row["real_time_factor"] = row["symbols_per_second"] / config.streams / _SAMPLE_RATE
    a_step = {row["name"]: row["median_ms"] / row["steps"] for row in measured}
    pairs = [*(("plain", name) for name in a_step if name != "plain"), *_ENGINE_RATIOS]
    return {
        "shape": config.shape,
        "device": device.describe(chosen),
        "model": vars(config.model),
        "streams": config.streams,
        "rows": measured,
        "ratios": _ratios(a_step, pairs),
        "published": published(config),
    }


def table(result: dict[str, Any]) -> str:
    """A result for people."""
    lines = _generation_lines(result) if "streams" in result else _training_lines(result)
    lines += [f"{name:58}{value:>9.2f}" for name, value in result["ratios"].items()]
    lines += [f"published: {_described(row)}" for row in result["published"]]
    return "\n".join(lines)


def _rows(rows: Mapping[str, Row], timings: Mapping[str, Timing]) -> list[dict[str, Any]]:
    measured = []
    for name, timing in timings.items():
        times = dict(zip(_QUANTILES, map(timing.quantile, (0.5, 0.1, 0.9)), strict=True))
        rate = rows[name].symbols / times["median_ms"] * 1000
        row = {"name": name, **times, "calls": len(timing.milliseconds)}
        row |= {"symbols_per_second": rate, "peak_bytes": timing.peak_bytes}
        measured.append(row | ({"variant": rows[name].variant} if rows[name].variant else {}))
    return measured


def _training_lines(result: dict[str, Any]) -> list[str]:
    sizes = f"T {result['sequence_length']}, B {result['batch_size']}"
    lines = [
        f"{_model(result)}, {sizes}; {result['device']}, {result['kernels']}",
        _line("", ("median", "p10", "p90", "symbols/s", "memory", "variant")),
    ]
    for row in result["rows"]:
        times = [f"{row[key]:.2f} ms" for key in _QUANTILES]
        rate = f"{row['symbols_per_second']:,.0f}"
        memory = "" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 2**20:.0f} MiB"
        variant = row.get("variant", "")
        lines.append(_line(row["name"], (*times, rate, memory, variant)))
    return lines


def _generation_lines(result: dict[str, Any]) -> list[str]:
    lines = [
        f"{_model(result)}, S {result['streams']}; {result['device']}",
        _line("", ("a step", "p10", "p90", "symbols/s", "real time")),
    ]
    for row in result["rows"]:
        times = [f"{1000 * row[key] / row['steps']:.2f} µs" for key in _QUANTILES]
        factor = f"{row['real_time_factor']:.2f} x" if "real_time_factor" in row else ""
        lines.append(_line(row["name"], (*times, f"{row['symbols_per_second']:,.0f}", factor)))
    return lines


def _model(result: dict[str, Any]) -> str:
    model = result["model"]
    size = f"{model['num_layers']} x {model['hidden_size']} {model['cell']}"
    return f"{result['shape']}: {size}, V {model['vocabulary_size']}"


def _ratios(times: Mapping[str, float], pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    return {
        f"{slow}/{fast}": times[slow] / times[fast]
        for slow, fast in pairs
        if slow in times and fast in times
    }


def _line(name: str, cells: Sequence[str]) -> str:
    return (f"{name:28}" + "".join(f"{cell:>13}" for cell in cells)).rstrip()


def published(config: Config) -> list[dict[str, Any]]:
    """What is known of a shape, for training at the depth that `model.num_layers` asks for."""
    shape = config.shape or ""
    training = [
        dict(zip(_FIELDS, row, strict=True)) | _SIZES[shape]
        for row in _TRAINING.get(shape, [])
        if row[0] == config.model.num_layers
    ]
    return training + _GENERATION.get(shape, [])


def _described(row: dict[str, Any]) -> str:
    """One row of `published` as a line."""
    who = f"{row['name']}, {row['gpu']}"
    if "symbols_per_second" in row:
        return f"{who}: {row['symbols_per_second']:,} symbols/s"
    sizes = "H {hidden_size}, T {sequence_length}, B {batch_size}".format(**row)
    return f"{who}: {row['forward_backward_ms']:g} ms forward + backward at {sizes}"
