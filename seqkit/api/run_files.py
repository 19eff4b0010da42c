"""What a training leaves beside its checkpoints: about.json, summary.json, metrics and samples."""

import contextlib
import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.advice import run_page, verdict
from seqkit.data.codecs import SoundCodec
from seqkit.data.corpus import Part
from seqkit.data.sound import pictures
from seqkit.data.sound.reader import SoundReader
from seqkit.evaluation import baselines
from seqkit.evaluation.recording import Recording
from seqkit.foundation import device, disk
from seqkit.foundation.console import Notice
from seqkit.foundation.errors import SeqkitError
from seqkit.foundation.run_folders import find_checkpoint
from seqkit.foundation.wording import command_line
from seqkit.generation.generate import Trained, generate
from seqkit.generation.medium import save_sample
from seqkit.generation.sampler import Blocks, Request
from seqkit.model.arrays import count_parameters
from seqkit.model.char_rnn import CharRNN
from seqkit.runs.checkpoint import load
from seqkit.runs.events import Event, Sampled, describe
from seqkit.runs.folder import RunFolder
from seqkit.runs.record import State, read
from seqkit.stages.training import Training
from seqkit.symbols import Symbols
from seqkit.training.events import Trained as Reported
from seqkit.training.events import Validated

_SOUGHT = 60  # seconds of the data's sound of which the loudest one is shown
_JUDGED = 60  # seconds of the closing sample that the verdict is on


def about_run(training: Training) -> dict[str, Any]:
    """about.json, see docs/reference/files.md; of sound, samples/data.wav is written, too.

    Raises OutputError: it cannot be written.
    """
    corpus, validation = training.data.corpus, training.data.validation
    part = validation if len(validation) else corpus.whole
    if corpus.codec.kind == "audio":
        medium, file = training.closing.medium, training.claim.folder.samples / "data"
        save_sample(medium, _excerpt(part, corpus.codec, medium.glimpse), file)
    return {
        **_of_both(training),
        "local_processes": training.ranks.rank.local_size,
        "total_steps": 0 if training.config.train.max_minutes else training.trainer.total_steps,
        "epoch_steps": training.trainer.epoch_steps,
        "data": {
            **corpus.record(),
            "kind": corpus.codec.kind,
            "symbols": len(corpus.whole),
            "training_symbols": len(training.data.unabridged),
            "vocabulary": corpus.codec.size,
        },
        "baselines": baselines.baselines(part, corpus.codec, baselines.SAMPLE),
    }


def summary(training: Training) -> dict[str, Any]:
    """summary.json, see docs/reference/files.md."""
    progress, corpus = training.trainer.progress, training.data.corpus
    return {
        **_of_both(training),
        "recipe": training.config.recipe,
        "steps": progress.step,
        "symbols": progress.symbols,
        "train_seconds": progress.seconds,
        "elapsed_seconds": training.trainer.elapsed,
        "best_validation_loss": progress.best_loss,
        "validation_symbols": len(training.data.validation),
        "validation_symbols_scored": training.trainer.validation.scored,
        "best_step": progress.best_step if progress.best_loss is not None else None,
        "data": {"name": corpus.name, "sha256": corpus.sha256},
        "temperature": training.closing.request.sampling.temperature,
        "likeness": None,  # until the closing sample is made
        "settings": dataclasses.asdict(training.config),
    }


def _of_both(training: Training) -> dict[str, Any]:
    return {
        "device": device.describe(training.device, training.ranks.rank),
        "processes": training.ranks.rank.size,
        "dtype": training.trainer.execution.precision,
        "parameters": count_parameters(training.trainer.model.config),
        "versions": device.versions(),
    }


def _excerpt(part: Part, codec: SoundCodec, glimpse: int) -> Symbols:
    """The loudest second, symbols (n,), of the first minute that it is validated on."""
    length = min(glimpse, len(part))
    begins = range(0, length * min(len(part) // length, _SOUGHT), length)
    pieces = [part.symbols[begin : begin + length] for begin in begins]
    return max(pieces, key=lambda piece: float(codec.powers(piece).sum()))


def sample(training: Training, model: CharRNN, request: Request, notice: Notice) -> Blocks:
    """What a model of a training makes of the prompt: blocks (N, S)."""
    if training.data.corpus.labels is not None:  # each sample has labels that are drawn anew
        seed = request.sampling.seed + training.trainer.progress.step
        sampling = dataclasses.replace(request.sampling, seed=seed)
        request = dataclasses.replace(request, sampling=sampling)
    trained = Trained(model, training.data.corpus.codec, labels=training.data.corpus.labels)
    return generate(trained, training.closing.prompt, request, notice)


def closing_sample(training: Training, notice: Notice) -> Blocks:
    """What the best checkpoint makes of the prompt: blocks (N, S). Raises CheckpointError."""
    file = find_checkpoint(training.claim.folder.path)
    model = load(file, training.session.catalogue).build(training.device)
    return sample(training, model, training.closing.request, notice)


def closing_file(training: Training) -> Path:
    """Where the closing sample goes if it is not printed."""
    return training.claim.folder.samples / f"final{training.closing.medium.suffix}"


def save_closing_sample(training: Training, notice: Notice) -> None:
    """Write the closing sample, after its prompt, while it is made."""
    with training.closing.medium.open(closing_file(training), overwrite=True) as write:
        write(training.closing.prompt)
        for block in closing_sample(training, notice):
            write(block[:, 0])
    finish_closing_sample(training, notice)


def finish_closing_sample(training: Training, notice: Notice) -> None:
    """Judge and draw it, if it is sound, and show it in the report."""
    codec, recording = training.data.corpus.codec, training.recording
    if codec.kind != "audio":
        return
    try:
        if recording is not None:
            _judge(closing_file(training), codec, recording, training, notice)
        for file in (closing_file(training), training.claim.folder.samples / "data.wav"):
            draw(file, notice)
        run_page.write(training.claim.folder.path, "finished")
    except SeqkitError as error:
        notice(f"not all is in the report: {error}")


def _judge(
    file: Path, codec: SoundCodec, recording: Recording, training: Training, notice: Notice
) -> None:
    """Tell whether the closing sample is like the recording, and keep that for all who ask."""
    frames, rate = np.concatenate([*SoundReader(file).all_channels()]), codec.sample_rate
    first = codec.samples_of(len(training.closing.prompt))
    said = recording.judged(frames[first : first + _JUDGED * rate].mean(1), rate)
    notice(f"the closing sample {said.words}")
    if said.is_like is False:
        words = "doctor", f"run_dir={training.claim.folder.path}"
        notice(f"what to try: {command_line(*words, plugins=training.config.plugins)}")
    known = {} if said.distances is None else said.distances._asdict()
    passages = said.copied._asdict() if said.copied else {}
    kept = {"is_like": said.is_like, "heard": said.words, **known, **passages}
    training.claim.folder.complete(training.claim.folder.summary, {"likeness": kept})


def draw(file: Path, notice: Notice) -> None:
    """Draw the waveform and the mel spectrogram of a sample of sound beside it.

    A picture that fails is told, and ends no training.
    """
    try:
        pictures.draw_file(file)
    except Exception as error:
        notice(f"no picture of {file}: {error}")


def record(folder: RunFolder, event: Event) -> None:
    """metrics.jsonl: a line for each report and validation; `log`: what a person is told.

    docs/reference/files.md says what is kept of an event. Raises OutputError.
    """
    left_out: tuple[str, ...] = ()
    match event:
        case Reported():
            name, left_out = "train", ("total_steps",)
        case Validated():
            name, left_out = "validate", ("improved", "best_loss")
    if left_out:
        values = {key: value for key, value in vars(event).items() if key not in left_out}
        disk.append(folder.metrics, json.dumps({"event": name, **values}) + "\n")
    if line := describe(event):
        disk.append(folder.log, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")


def write_sample(training: Training, step: int, notice: Notice) -> Sampled | None:
    """samples/: what the network would write, or how it would sound, with its picture, by now.

    One that fails is told, and ends no training.
    """
    closing, folder = training.closing, training.claim.folder
    try:
        length = min(closing.medium.glimpse, closing.request.length)
        request = dataclasses.replace(closing.request, length=length, streams=1)
        if closing.medium.printed:  # so short a text is there before another engine is set up
            request = dataclasses.replace(request, engine="torch", precision="auto")
        blocks = sample(training, training.trainer.validation.model(), request, notice)
        pieces = [closing.prompt.astype(np.int64), *(block[:, 0] for block in blocks)]
        symbols = np.concatenate(pieces)
        file = save_sample(closing.medium, symbols, folder.samples / f"step_{step:07}")
        preview = closing.medium.preview(symbols, file)
    except Exception as error:
        notice(f"no sample at step {step}: {error}")
        return None
    if file.suffix == ".wav":
        draw(file, notice)
    return Sampled(step, file, preview)


def report(training: Training, state: State, notice: Notice) -> None:
    """about.json when a run begins or ends early, report.html when it ends.

    Where a finished run stands badly, that is told. What fails is told, and ends no training.
    """
    folder, step = training.claim.folder, training.trainer.progress.step
    try:
        if state == "running":
            folder.write_json(folder.about, {**about_run(training), "ended": None})
            return
        if state != "finished":
            with contextlib.suppress(SeqkitError):  # the page is worth more
                folder.complete(folder.about, {"ended": {"how": state, "step": step}})
        found = read(folder.path, state)
        disk.write(folder.report, run_page.render(found))
        if state == "finished":
            if said := verdict.warning(found):
                notice(said)
            notice(f"report: {folder.report}")
    except Exception as error:
        notice(f"no report: {error}")
