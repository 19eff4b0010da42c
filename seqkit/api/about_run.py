"""What a run's folder says of it: about.json with a piece of its data's sound, and summary.json."""

import dataclasses
from typing import Any

import numpy as np

from seqkit.api.prepare_training import Training
from seqkit.data.corpus import Part
from seqkit.foundation import device
from seqkit.generation.medium import save_sample
from seqkit.symbols import Symbols

_SOUGHT = 60  # seconds of sound of which the loudest one is shown


def about_run(training: Training) -> dict[str, Any]:
    """about.json, see docs/config.md; of sound, samples/data.wav is written, too.

    Raises:
        OutputError: it cannot be written.
    """
    corpus = training.corpus
    part = training.validation if len(training.validation) else corpus.whole
    if corpus.codec.kind == "audio":
        save_sample(training.medium, _excerpt(training, part), training.folder.files.sample("data"))
    return {
        "device": training.device_words,
        "processes": training.ranks.place.size,
        "local_processes": training.ranks.place.local_size,
        "dtype": training.execution.precision,
        "parameters": training.parameters,
        "total_steps": training.trainer.total_steps,
        "versions": device.versions(),
        "data": {
            **corpus.record(),
            "kind": corpus.codec.kind,
            "symbols": len(corpus.whole),
            "training_symbols": len(corpus.split(training.config.data.split)[0]),
            "vocabulary": corpus.codec.size,
        },
        "baselines": training.baselines,
    }


def summary(training: Training) -> dict[str, Any]:
    """summary.json, see docs/config.md."""
    progress, corpus = training.trainer.progress, training.corpus
    return {
        "recipe": training.config.recipe,
        "device": training.device_words,
        "processes": training.ranks.place.size,
        "dtype": training.execution.precision,
        "parameters": training.parameters,
        "steps": progress.step,
        "symbols": progress.symbols,
        "train_seconds": progress.seconds,
        "elapsed_seconds": training.trainer.elapsed,
        "best_validation_loss": progress.best_loss,
        "validation_symbols": len(training.validation),
        "validation_symbols_scored": progress.scored or 0,
        "best_step": progress.best_step if progress.best_loss is not None else None,
        "best_weights": progress.best_weights,
        "best_temperature": progress.best_temperature,
        "data": {"name": corpus.name, "sha256": corpus.sha256},
        "settings": dataclasses.asdict(training.config),
        "versions": device.versions(),
    }


def _excerpt(training: Training, part: Part) -> Symbols:
    """The loudest second, symbols (n,), of the first minute."""
    length = min(training.medium.glimpse, len(part))
    count = min(len(part) // length, _SOUGHT)
    pieces = [part.symbols[place * length : (place + 1) * length] for place in range(count)]
    return max(pieces, key=lambda piece: float(np.square(training.medium.decode(piece)).mean()))
