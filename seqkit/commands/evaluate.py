"""`evaluate`: how well a checkpoint predicts a text, or sound."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from seqkit import device, stdout
from seqkit.api import own_data
from seqkit.api.load import load_checkpoint
from seqkit.commands import outputs
from seqkit.config import Config
from seqkit.console import Console
from seqkit.data.corpus import Corpus, Part
from seqkit.evaluation import baselines, dynamic, protocols, scoring, streaming, text_baselines
from seqkit.evaluation.bootstrap import interval
from seqkit.evaluation.score import Score
from seqkit.plugins import Catalogue
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.layout import find_checkpoint


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Print the loss of `data.path`, or of a part of the checkpoint's own data."""
    out = outputs.result_file(config)
    if out is None:
        stdout.existing()
    saved = load_checkpoint(config.checkpoint, catalogue)
    chosen = device.choose_device(config.device)
    part, corpus = own_data.asked_for(config, saved, catalogue, console.notice, console.progress)
    copies = dynamic.COPIES if config.protocol == "dynamic" else 1
    scoring.require_memory(saved.model, len(part), chosen, copies)
    with (
        device.memory_errors(lambda: "Try device=cpu."),
        console.progress("evaluate", len(part), unit="symbols") as bar,
    ):
        score = _score(config, saved, part, chosen, bar.update)
    with console.progress("baselines", baselines.passes(corpus.codec) * len(part)) as bar:
        beside = baselines.beside_score(part, corpus, bar.update)
    result: dict[str, Any] = {
        **_score_fields(score, part, corpus),
        "skipped": corpus.skipped,
        "unreadable_files": corpus.unreadable_files,
        "protocol": config.protocol,
        "window": config.window if config.protocol == "windowed" else None,
        "dynamic": vars(config.dynamic) if config.protocol == "dynamic" else None,
        "part": None if config.data.path else config.part,
        "checkpoint": str(find_checkpoint(Path(config.checkpoint or ""))),
        "device": device.describe(chosen),
        "data_sha256": corpus.sha256,
        **beside,
    }
    text = json.dumps(result) if config.json else _table(result)
    outputs.write_result(out, text, overwrite=config.overwrite)


def _score(
    config: Config,
    saved: Checkpoint,
    part: Part,
    chosen: torch.device,
    watch: Callable[[int], None],
) -> Score:
    """The score under the protocol that is asked for."""
    model, start = saved.build(chosen), saved.codec.start
    match config.protocol:
        case "windowed":
            windows = protocols.windowed(part, config.window)
            return scoring.evaluate(model, part, start=start, segments=windows, watch=watch)
        case "dynamic":
            settings = config.dynamic
            return dynamic.evaluate(model, part, start=start, settings=settings, watch=watch)
        case _:
            return streaming.evaluate(model, part, start=start, watch=watch)


def _score_fields(score: Score, part: Part, corpus: Corpus) -> dict[str, Any]:
    """A score in nats and in bits, by symbol and by byte of text."""
    codec, found = corpus.codec, interval(score)
    nats = None if found is None else [found.low, found.high]
    size = None if codec.kind == "audio" else text_baselines.text_bytes(part.symbols, codec)
    return {
        "loss": score.loss,
        "loss_interval": nats,
        "bits_per_symbol": score.bits_per_symbol,
        "bits_interval": nats and [bound / math.log(2) for bound in nats],
        "interval_from": found and f"{found.count} {found.unit}",
        "symbols": score.symbols,
        "bytes": size,
        "loss_per_byte": size and score.nats / size,
        "bits_per_byte": size and score.nats / math.log(2) / size,
    }


def _table(result: dict[str, Any]) -> str:
    """A line for each field that there is."""
    return "\n".join(
        f"{name:16} {_shown(value)}" for name, value in result.items() if value is not None
    )


def _shown(value: Any) -> str:
    match value:
        case float():
            return f"{value:.4f}"
        case [low, high]:
            return f"{low:.4f} to {high:.4f} (95 %)"
        case dict():
            return ", ".join(f"{name} {setting}" for name, setting in value.items())
        case _:
            return str(value)
