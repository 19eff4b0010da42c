"""`evaluate`: how well a checkpoint predicts a text, or sound."""

import dataclasses
import json
from pathlib import Path

from seqkit import device, disk
from seqkit.api.load import load_checkpoint
from seqkit.api.own_data import own_part
from seqkit.commands import outputs
from seqkit.config import Config, DataConfig
from seqkit.console import Console
from seqkit.data import streams
from seqkit.data.load import load_corpus
from seqkit.evaluation import baselines, protocols, scoring, streaming
from seqkit.plugins import Catalogue
from seqkit.runs.layout import find_checkpoint


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Print loss and bits per symbol of `data.path`, or of the checkpoint's own validation part."""
    out = outputs.result_file(config)
    saved = load_checkpoint(config.checkpoint, catalogue)
    chosen = device.choose_device(config.device)
    if config.data.path:
        paths = streams.settled(config.data.path, disk.cache_dir(), console.notice)
        data = dataclasses.replace(config.data, path=paths, max_vocabulary=0)
        corpus = load_corpus(
            saved.as_read(data),
            catalogue=catalogue,
            notice=console.notice,
            codec=saved.codec,
            trained=saved.config,
            progress=console.progress,
        )
        part = corpus.whole
    else:
        if config.data != DataConfig():
            console.notice("without data.path the data are read as the checkpoint's own were")
        part, corpus = own_part(saved, config.part, catalogue, console.notice, console.progress)
    scoring.require_memory(saved.model, len(part), chosen)
    with (
        device.memory_errors(lambda: "Try device=cpu."),
        console.progress("evaluate", len(part), unit="symbols") as bar,
    ):
        model, start = saved.build(chosen), saved.codec.start
        if config.protocol == "windowed":
            windows = protocols.windowed(part, config.window)
            score = scoring.evaluate(model, part, start=start, segments=windows, watch=bar.update)
        else:
            score = streaming.evaluate(model, part, start=start, watch=bar.update)
    result: dict[str, object] = {
        "loss": score.loss,
        "bits_per_symbol": score.bits_per_symbol,
        "symbols": score.symbols,
        "skipped": corpus.skipped,
        "unreadable_files": corpus.unreadable_files,
        "protocol": config.protocol,
        "window": config.window if config.protocol == "windowed" else None,
        "part": None if config.data.path else config.part,
        "checkpoint": str(find_checkpoint(Path(config.checkpoint or ""))),
        "device": device.describe(chosen),
        "data_sha256": corpus.sha256,
        **baselines.beside_score(part, corpus),
    }
    text = json.dumps(result) if config.json else _table(result)
    outputs.write_result(out, text, overwrite=config.overwrite)


def _table(result: dict[str, object]) -> str:
    return "\n".join(
        f"{name:16} {value:.4f}" if isinstance(value, float) else f"{name:16} {value}"
        for name, value in result.items()
    )
