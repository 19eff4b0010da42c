"""`evaluate`: how well a checkpoint predicts a text, or sound."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from seqkit.api import checkpoint_data
from seqkit.commands import outputs
from seqkit.config import Keys
from seqkit.data.corpus import Corpus, Part
from seqkit.data.load import check_same
from seqkit.data.sound import Wave
from seqkit.evaluation import baselines, dynamic, scoring, streaming
from seqkit.evaluation.likeness import Distances
from seqkit.evaluation.recording import VERDICT, Recording
from seqkit.evaluation.scoring import Score
from seqkit.foundation import device
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.session import Session
from seqkit.foundation.wording import counted, json_text
from seqkit.generation.generate import Trained, generate
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.named_checkpoint import load_checkpoint
from seqkit.stages.data import digest, recording_of, source_of
from seqkit.symbols import Integers

_SOUNDS = 3  # that protocol=spectral makes, each from draws of its own
_SECONDS = 10.0  # of each, by default
_FULL_RATE = 48_000  # hertz at which another recording is read: no distance hears more


def run(keys: Keys, catalogue: Catalogue, console: Console) -> None:
    """Print the loss of `data.path`, or of a part of the checkpoint's own data.

    With protocol=spectral, print how much the model's sound is like all of that data.
    """
    read = keys.checkpoint, *keys.data.path
    out = outputs.result_file(keys.out, read, overwrite=keys.overwrite)
    saved = load_checkpoint(keys.checkpoint, catalogue, console)
    chosen = torch.device(device.find_device(keys.device, for_all=True))
    session = Session(catalogue, console.notice, console.progress)
    measured = _likeness if keys.protocol == "spectral" else _prediction
    result = measured(keys, saved, chosen, session)
    text = json_text(result) if keys.json else _table(result)
    outputs.write_result(out, text, overwrite=keys.overwrite)


def _prediction(
    keys: Keys, saved: Checkpoint, chosen: torch.device, session: Session
) -> dict[str, Any]:
    """How well the part of a corpus is predicted, and baselines."""
    part, corpus = checkpoint_data.asked_for(
        keys.data, keys.part, saved, session, as_validated=True
    )
    with (
        device.memory_errors("Try device=cpu."),
        session.progress("evaluate", len(part), unit="symbols") as bar,
    ):
        scored = scoring.Scored(saved.build(chosen), part, saved.codec.start, bar.update)
        match keys.protocol:
            case "windowed":
                score = scoring.evaluate(scored, scoring.windowed(part, keys.window))
            case "dynamic":
                score = dynamic.evaluate(scored)
            case _:
                score = streaming.evaluate(scored)
    scoring.require_numbers(score.nats, learning=keys.protocol == "dynamic")
    with session.progress("baselines"):
        beside = baselines.baselines(part, corpus.codec)
    return {
        **_score_fields(score, part, corpus),
        "skipped": corpus.skipped,
        "unreadable_files": corpus.unreadable_files,
        "protocol": keys.protocol,
        "window": part.whole_frames(keys.window) if keys.protocol == "windowed" else None,
        "part": None if keys.data.path else keys.part,
        **_of_both(saved, chosen, corpus.sha256),
        **beside,
    }


def _likeness(
    keys: Keys, saved: Checkpoint, chosen: torch.device, session: Session
) -> dict[str, Any]:
    """How much some sounds that the model makes are like a recording.

    Without `data.path` it is the one that the model learnt, at the model's rate. Another one is
    heard in full, whatever the model can say of it.
    """
    codec = saved.codec
    if codec.kind != "audio":
        raise ConfigError("protocol=spectral measures sound, and this model writes text")
    recording, sha256 = saved.recording, str(saved.data.get("sha256"))
    if keys.data.path:  # refused before anything is made
        data = checkpoint_data.data_asked_for(keys.data, saved, session)
        check_same(data, codec, saved.settings.data)
        source = source_of(data, session)
        with session.progress("reading"):
            recording = recording_of(source, codec, _FULL_RATE)
        sha256 = digest(source)
    if recording is None:
        raise ConfigError("this model keeps no recording to compare with: give data.path=FILE")
    seconds = keys.seconds or (None if keys.length else _SECONDS)
    seeded = dataclasses.replace(keys, seed=keys.seed or 0, seconds=seconds, streams=_SOUNDS)
    _, _, request = saved.asked(seeded)
    advice = "Try fewer seconds, or device=cpu."
    with device.memory_errors(advice), session.progress("generate", request.length) as bar:
        trained = Trained(saved.build(chosen), codec, labels=saved.labels)
        prompt, blocks, done = np.zeros(0, np.uint8), list[Integers](), 0
        for block in generate(trained, prompt, request, session.notice):
            blocks.append(block)
            done += len(block)
            bar.update(done)
    waves = [codec.decode(symbols) for symbols in np.concatenate(blocks).T]
    return {
        **_compared(waves, codec.sample_rate, recording),
        "seconds": request.length / codec.symbol_rate,
        "seed": request.sampling.seed,
        "temperature": request.sampling.temperature,
        "protocol": keys.protocol,
        **_of_both(saved, chosen, sha256),
    }


def _of_both(saved: Checkpoint, chosen: torch.device, sha256: str) -> dict[str, Any]:
    """What was measured where, on which data."""
    return {
        "checkpoint": saved.name or str(saved.file),
        "device": device.describe(chosen),
        "data_sha256": sha256,
    }


def _compared(waves: Sequence[Wave], rate: int, recording: Recording) -> dict[str, Any]:
    """The distances of waves (N,) from a recording. Raises DataError: they are too short."""
    try:
        distances = [recording.measure(wave, rate) for wave in waves]
        judgements = [recording.judged(wave, rate) for wave in waves]
        fidelity = np.mean([recording.fidelity(wave, rate) for wave in waves], axis=0).tolist()
    except ValueError as error:
        raise DataError(f"seconds is too small to compare: {error}") from error
    like = sum(judgement.is_like is True for judgement in judgements)
    verb = "is" if like == 1 else "are"
    heard = f"{like} of {counted(len(waves), 'sound')} {verb} like the recording"
    if any(judgement.is_like is None for judgement in judgements):
        heard = f"too short: a verdict needs {VERDICT:g} s of sound"
    return {
        **Distances(*np.mean(distances, axis=0).tolist())._asdict(),
        **{f"{name}_halves": value for name, value in recording.halves._asdict().items()},
        **dict(zip(("precision", "recall"), fidelity, strict=True)),
        "has_pulse": recording.has_pulse,
        "sounds": [
            {
                **distance._asdict(),
                **(judgement.copied._asdict() if judgement.copied else {}),
                "heard": judgement.words,
            }
            for distance, judgement in zip(distances, judgements, strict=True)
        ],
        "heard": heard,
    }


def _score_fields(score: Score, part: Part, corpus: Corpus) -> dict[str, Any]:
    """A score in nats and in bits, by symbol and by byte of text."""
    codec, nats = corpus.codec, score.interval
    size = None if codec.kind == "audio" else baselines.text_bytes(part.symbols, codec)
    return {
        "loss": score.loss,
        "loss_interval": nats,
        "bits_per_symbol": score.bits_per_symbol,
        "bits_interval": nats and [bound / math.log(2) for bound in nats],
        "symbols": score.symbols,
        "bytes": size,
        "loss_per_byte": size and score.nats / size,
        "bits_per_byte": size and score.nats / math.log(2) / size,
    }


def _table(result: dict[str, Any]) -> str:
    """A line for each field that there is."""
    known = {name: value for name, value in result.items() if value is not None}
    return "\n".join(
        f"{name:16} {_shown(value)}" for name, value in known.items() if name != "sounds"
    )


def _shown(value: Any) -> str:
    match value:
        case float():
            return f"{value:.4f}"
        case [low, high]:
            return f"{low:.4f} to {high:.4f} (95 %)"
        case _:
            return str(value)
