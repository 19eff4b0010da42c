"""The shapes of `bench` that generate: every engine beside a plain loop."""

import json
from pathlib import Path
from typing import Any

import torch

from seqkit import device
from seqkit.bench import generation
from seqkit.bench.generation import Row
from seqkit.commands import material
from seqkit.config import Config
from seqkit.console import Console
from seqkit.kernels.timing import ROUNDS, Timing, interleave

SHAPES = ("generate_text", "generate_audio")
_SAMPLE_RATE = 16000  # that real time is measured against
_PAIRS = (
    ("cuda_graph", "fused"),
    ("onnxruntime_bare", "onnx_fp32"),
    ("onnxruntime_bare_int8", "onnx_int8"),
)
"""What is compared beside every row with the plain loop."""
_PUBLISHED = [
    {"name": "WaveRNN's persistent kernel", "machine": "P100", "symbols_per_second": 96000},
]
"""For sound, as its authors published it."""


def run(config: Config, chosen: torch.device, out: Path | None, console: Console) -> None:
    """Print median and spread of every row, and their ratios."""
    with device.memory_errors(lambda: "Try fewer streams."):
        rows = generation.rows(config, chosen, console.notice)
        with console.progress("bench", len(rows) * (ROUNDS + 1)) as bar:
            builds = {name: row.build for name, row in rows.items()}
            timings = interleave(builds, chosen, bar.update)
    result = _result(config, device.describe(chosen), rows, timings)
    material.write_result(out, json.dumps(result) if config.json else _table(result))


def _result(
    config: Config, chosen: str, rows: dict[str, Row], timings: dict[str, Timing]
) -> dict[str, Any]:
    sound = config.shape == "generate_audio"
    found: list[dict[str, Any]] = []
    for name, timing in timings.items():
        steps = rows[name].steps
        row = timing.row(name, config.streams * steps) | {"steps": steps}
        if sound:
            rate = row["symbols_per_second"] / config.streams
            row["real_time_factor"] = rate / _SAMPLE_RATE
        found.append(row)
    rates = {row["name"]: row["symbols_per_second"] for row in found}
    pairs = [*(("plain", name) for name in rates if name != "plain"), *_PAIRS]
    return {
        "shape": config.shape,
        "device": chosen,
        "model": vars(config.model),
        "streams": config.streams,
        "rows": found,
        "ratios": {
            f"{slow}/{fast}": rates[fast] / rates[slow]
            for slow, fast in pairs
            if slow in rates and fast in rates
        },
        "published": _PUBLISHED if sound else [],
        "versions": material.versions(),
    }


def _table(result: dict[str, Any]) -> str:
    model = result["model"]
    lines = [
        f"{result['shape']}: {model['num_layers']} x {model['hidden_size']} {model['cell']}, "
        f"V {model['vocabulary_size']}, S {result['streams']}; {result['device']}",
        f"{'':24}{'a step':>12}{'p10':>12}{'p90':>12}{'symbols/s':>14}{'real time':>11}",
    ]
    for row in result["rows"]:
        times = (
            f"{1000 * row[key] / row['steps']:.2f} µs" for key in ("median_ms", "p10_ms", "p90_ms")
        )
        factor = f"{row['real_time_factor']:.2f} x" if "real_time_factor" in row else ""
        lines.append(
            f"{row['name']:24}{''.join(f'{time:>12}' for time in times)}"
            f"{row['symbols_per_second']:>14,.0f}{factor:>11}"
        )
    lines += [f"{name:40}{value:>8.2f}" for name, value in result["ratios"].items()]
    lines += [
        f"published: {row['name']}, {row['machine']}: {row['symbols_per_second']:,} symbols/s"
        for row in result["published"]
    ]
    return "\n".join(lines)
