"""`evaluate`: how well a checkpoint predicts a text, or sound."""

import json
import math
from collections.abc import Mapping

from seqkit.api import checkpoint_data
from seqkit.commands import outputs
from seqkit.config import Keys
from seqkit.evaluation import baselines, dynamic, scoring, streaming
from seqkit.evaluation.scoring import Scored
from seqkit.foundation import device
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.ranks import Session
from seqkit.runs.named_checkpoint import load_checkpoint


def run(keys: Keys, catalogue: Catalogue, console: Console) -> None:
    """Print the loss of `data.path`, or of a part of the checkpoint's own data, and baselines."""
    read = keys.checkpoint, *keys.data.path
    out = outputs.result_file(keys.out, read, overwrite=keys.overwrite)
    saved = load_checkpoint(keys.checkpoint, catalogue, console)
    chosen, progress = device.find_device(keys.device, for_all=True), console.progress
    session = Session(catalogue, console.notice, progress)
    part, corpus = checkpoint_data.asked_for(
        keys.data, keys.part, saved, session, as_validated=True
    )
    with (
        device.memory_errors("Try device=cpu."),
        progress("evaluate", len(part), unit="symbols") as bar,
    ):
        scored = Scored(saved.build(chosen), part, saved.codec.start, bar.update)
        match keys.protocol:
            case "windowed":
                score = scoring.evaluate(scored, scoring.windowed(part, keys.window))
            case "dynamic":
                score = dynamic.evaluate(scored)
            case _:
                score = streaming.evaluate(scored)
    scoring.require_numbers(score.nats, learning=keys.protocol == "dynamic")
    with progress("baselines"):
        beside = baselines.baselines(part, corpus.codec)
        codec = corpus.codec
        size = None if codec.kind == "audio" else baselines.text_bytes(part.symbols, codec)
    result = {
        "loss": score.loss,
        "bits_per_symbol": score.bits_per_symbol,
        "symbols": score.symbols,
        "bytes": size,
        "loss_per_byte": size and score.nats / size,
        "bits_per_byte": size and score.nats / math.log(2) / size,
        "skipped": corpus.skipped,
        "unreadable_files": corpus.unreadable_files,
        "protocol": keys.protocol,
        "window": part.whole_frames(keys.window) if keys.protocol == "windowed" else None,
        "part": None if len(part) == len(corpus.whole) else keys.part,
        "checkpoint": saved.name or str(saved.file),
        "device": device.describe(chosen),
        "data_sha256": corpus.sha256,
        **beside,
    }
    text = json.dumps(result) if keys.json else _table(result)
    outputs.write_result(out, text, overwrite=keys.overwrite)


def _table(result: Mapping[str, object]) -> str:
    """A line for each field that there is."""
    rounded = {k: f"{v:.4f}" if isinstance(v, float) else v for k, v in result.items()}
    return "\n".join(f"{name:16} {value}" for name, value in rounded.items() if value is not None)
