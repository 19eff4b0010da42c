"""`bench`: how long training or generation takes at a shape, beside what it is compared with."""

import json

import torch

from seqkit.bench import generation, plain, report, training
from seqkit.commands import outputs
from seqkit.config import Config
from seqkit.foundation import device, machine
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError
from seqkit.generation.request import require_streams
from seqkit.kernels.timing import ROUNDS, Row, Timing, interleave


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Print the median and spread of every row, and their ratios."""
    if not config.shape:
        raise ConfigError("no shape: give shape=NAME; toy, text, audio and mycaffe are some")
    if not config.model.vocabulary_size:
        raise ConfigError("model.vocabulary_size=0: give the number of symbols")
    out = outputs.result_file(config)
    chosen = device.choose_device(config.device)
    notes: list[str] = []

    def notice(text: str) -> None:
        notes.append(text)
        console.notice(text)

    generates = config.shape in generation.SHAPES
    advice = "Try fewer streams." if generates else "Try a smaller train.batch_size."
    with machine.memory_errors(advice):
        if generates:
            require_streams(config.model, config.streams, chosen)
            rows = generation.rows(config, chosen, notice)
            timings = _time(rows, chosen, console)
            result = report.generation_result(config, chosen, rows, timings)
        else:
            console.notice("building each row; on a CPU this takes a minute")
            device.set_deterministic(config.train.deterministic)
            precisions = device.candidate_precisions(config.train.precision, chosen)
            rows, execution = training.rows(config, chosen, precisions, notice)
            rows |= plain.rows(config, chosen, console.progress)
            timings = _time(rows, chosen, console)
            result = report.training_result(config, chosen, rows, timings, execution)
    result |= {"notes": notes, "versions": device.versions()}
    text = json.dumps(result) if config.json else report.table(result)
    outputs.write_result(out, text, overwrite=config.overwrite)


def _time(rows: dict[str, Row], chosen: torch.device, console: Console) -> dict[str, Timing]:
    with console.progress("bench", len(rows) * (ROUNDS + 1)) as bar:
        return interleave({name: row.build for name, row in rows.items()}, chosen, bar.update)
