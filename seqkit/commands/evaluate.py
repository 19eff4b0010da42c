"""`evaluate`: how well a checkpoint predicts a text, or sound."""

import dataclasses
import json
from pathlib import Path

from seqkit import device, evaluation, paths, yardsticks
from seqkit.codecs import Quantiser
from seqkit.commands import material
from seqkit.config import Config
from seqkit.console import Console, Product
from seqkit.errors import OutputError


def run(config: Config, console: Console) -> None:
    """Print loss and bits per symbol of `data.path`, or of the checkpoint's own validation part."""
    saved = material.load_checkpoint(config.checkpoint)
    out = Path(config.out) if config.out and config.out != "-" else None
    if out and out.exists() and not config.overwrite:
        raise OutputError(f"{out} exists: give another out, or overwrite=true")
    chosen = device.choose(config.device)
    if config.data.path:
        data = dataclasses.replace(config.data, max_vocabulary=0)
        corpus = material.load_corpus(data, console, saved.codec)
        part = corpus.whole
    else:
        part, corpus = material.own_part(saved, config.part, console)
    if config.protocol == "windowed":
        segments = evaluation.windowed(part, config.window)
    else:
        segments = evaluation.streaming(part)
    with (
        device.memory_errors("Try device=cpu."),
        console.progress("evaluate", len(part)) as bar,
    ):
        score = evaluation.evaluate(
            saved.build(chosen),
            part,
            saved.codec.start,
            segments,
            watch=lambda done: bar.update(done, "symbols"),
        )
    result: dict[str, object] = {
        "loss": score.loss,
        "bits_per_symbol": score.bits_per_symbol,
        "symbols": score.symbols,
        "skipped": corpus.skipped,
        "protocol": config.protocol,
        "data_sha256": corpus.sha256,
    }
    if isinstance(saved.codec, Quantiser):
        result |= yardsticks.all_of(part, saved.codec)
        result["quantiser_snr_db"] = corpus.snr
    text = json.dumps(result) if config.json else _table(result)
    if out:
        with paths.atomic_write(out) as stream:
            stream.write((text + "\n").encode())
    else:
        product = Product()
        product.write(text + "\n")
        product.flush()


def _table(result: dict[str, object]) -> str:
    return "\n".join(
        f"{name:16} {value:.4f}" if isinstance(value, float) else f"{name:16} {value}"
        for name, value in result.items()
    )
