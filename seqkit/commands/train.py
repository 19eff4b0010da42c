"""`train`: data in, checkpoints, metrics and a sample out."""

import dataclasses
from collections.abc import Collection
from pathlib import Path

import torch

from seqkit import device, disk
from seqkit.commands import material
from seqkit.commands.job import Job
from seqkit.config import Config, ModelConfig, check_model, options
from seqkit.console import Console
from seqkit.data import audio
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Corpus
from seqkit.data.lanes import Lanes
from seqkit.data.load import load_corpus
from seqkit.errors import CheckpointError, ConfigError, OutputError
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.options import default_of
from seqkit.plugins import Catalogue
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder
from seqkit.training import kernel_choice
from seqkit.training.trainer import Trainer, saved_execution

_END_KEYS = {
    f"train.{key}"
    for key in ("max_steps", "max_epochs", "patience", "validate_every", "checkpoint_every")
} | {"model.autotune"}
"""What may differ when a run is resumed; the rest shapes what it learns."""
_HOW_KEYS = {"model.dropout", "model.backend", "model.cell_clip"}
"""The keys of the model that say how it runs, and not which weights it has."""


def run(config: Config, console: Console) -> None:
    """Train, and print a sample of the best checkpoint to stdout."""
    folder = _folder(config)
    stamp = folder.stamp()
    catalogue = Catalogue(config.plugins)
    saved = folder.load_last(catalogue, console.notice) if config.resume != "never" else None
    if saved is None and config.resume == "force":
        raise CheckpointError(f"resume=force: {folder.path} holds no run to go on with")
    if saved is not None and folder.finished and not _changed(config, saved, _END_KEYS):
        console.notice(f"{folder.path}: {_finished(config, saved.metrics['step'])}")
        return
    origin = saved
    if origin is None and config.init_from is not None:
        origin = _initial(config, Path(config.init_from), catalogue)
    chosen = device.choose_device(config.device)
    precisions = device.candidate_precisions(config.train.precision, chosen)
    device.prepare_training(chosen, config.train.deterministic)
    if config.data.path:
        config.data.path = str(Path(config.data.path).absolute())
    corpus = load_corpus(
        config.data,
        catalogue=catalogue,
        notice=console.notice,
        codec=origin.codec if origin else None,
    )
    if saved is not None:
        _check_unchanged(config, saved, corpus, console)
    prompt = material.read_prompt(config, corpus.codec)
    material.length(config, corpus.codec)  # refused now rather than after the training
    model_config = _model_config(config.model, corpus, origin)

    training, validation, _ = corpus.split(config.data.split)
    settings = config.train
    lanes = Lanes(training, corpus.codec.start, settings.batch_size, settings.sequence_length)
    if lanes.batch_size < settings.batch_size:
        console.notice(
            f"the data is short: {lanes.batch_size} lanes instead of "
            f"train.batch_size={settings.batch_size}"
        )
    if lanes.has_separators and not model_config.resets_in_one_call:
        console.notice(
            f"model.cell={model_config.cell} cannot start a document inside a fused call: the "
            "calls are cut where documents begin, which takes longer"
        )
    with device.memory_errors(lambda: _smaller(config, model_config, precisions[0], chosen)):
        if origin is not None:
            model = dataclasses.replace(origin, model=model_config).build(chosen)
            if not _same_shape(model_config, config.model):
                console.notice("the model is that of the checkpoint, not what model.* asks for")
        else:
            generator = torch.Generator().manual_seed(config.seed)
            model = CharRNN(model_config, generator).to(chosen)
        start = corpus.codec.start
        execution = _execution(config, model, lanes, precisions, saved, console)
        trainer = Trainer(
            model=model,
            lanes=lanes,
            validation=validation,
            start=start,
            optimizer=config.optimizer,
            train=settings,
            seed=config.seed,
            execution=execution,
        )
        if saved is not None:
            trainer.restore(saved.training or {}, saved.training_tensors)
            if trainer.finished and folder.finished:
                console.notice(f"{folder.path}: {_finished(config, trainer.progress.step)}")
                return
        if reason := trainer.prepare():
            console.notice(reason)
        job = Job(config, console, folder, corpus, validation, prompt, trainer, execution.precision)
        with folder.open(stamp):
            job.run()


def _folder(config: Config) -> RunFolder:
    if not config.recipe:
        raise ConfigError("no recipe: give recipe=NAME; python -m seqkit --help lists them")
    if config.run_dir:
        folder = RunFolder(Path(config.run_dir))
    elif config.resume != "never":
        raise ConfigError(f"resume={config.resume}: give run_dir=FOLDER, the run to go on with")
    else:
        folder = RunFolder.timed(Path(config.runs), config.recipe)
    folder.check_free()
    if folder.holds_run and config.resume == "never" and not config.overwrite:
        raise OutputError(
            f"run_dir={folder.path} holds a run: resume=auto goes on with it, "
            "overwrite=true replaces it"
        )
    return folder


def _initial(config: Config, place: Path, catalogue: Catalogue) -> Checkpoint:
    """The checkpoint whose weights a new run starts from."""
    origin = checkpoint.load(checkpoint.find(place), catalogue)
    if isinstance(origin.codec, Quantiser):
        audio.check_gain(config.data, origin.config)
    return origin


def _model_config(wanted: ModelConfig, corpus: Corpus, origin: Checkpoint | None) -> ModelConfig:
    """The network to train: as configured, or that of the weights to start from."""
    if origin is not None:
        model = dataclasses.replace(
            origin.model,
            dropout=wanted.dropout,
            backend=wanted.backend,
            cell_clip=wanted.cell_clip,
            autotune=wanted.autotune,
        )
        check_model(model)
        return model
    size = corpus.codec.size
    if wanted.vocabulary_size and wanted.vocabulary_size < size:
        raise ConfigError(
            f"model.vocabulary_size={wanted.vocabulary_size}: the data has {size} symbols; "
            "give at least as many, or 0"
        )
    return dataclasses.replace(wanted, vocabulary_size=wanted.vocabulary_size or size)


def _execution(
    config: Config,
    model: CharRNN,
    lanes: Lanes,
    precisions: list[str],
    saved: Checkpoint | None,
    console: Console,
) -> Execution:
    """How the network runs: as the run did before if it can, else as a search finds it fastest."""
    if advice := kernel_choice.width_advice(model):
        console.notice(advice)
    before = saved_execution(saved.training) if saved is not None else None
    choice = kernel_choice.choose_execution(
        model,
        lanes,
        precisions=precisions,
        cache=disk.cache_dir(),
        # Two searches may end differently: what is to repeat bit by bit is not searched for.
        search=config.model.autotune and not config.train.deterministic,
        before=before,
    )
    if choice.execution != before and (choice.milliseconds or before):
        console.notice(f"kernels: {choice}")
    return choice.execution


def _smaller(config: Config, model: ModelConfig, precision: str, chosen: torch.device) -> str:
    """What to try when memory does not suffice."""
    if chosen.type == "cuda":
        lanes = kernel_choice.fitting_lanes(model, config.train.sequence_length, precision, chosen)
        if lanes := min(lanes, config.train.batch_size // 2):
            return f"By estimate train.batch_size={lanes} fits."
    return "Try a smaller train.batch_size or model.hidden_size."


def _same_shape(model: ModelConfig, wanted: ModelConfig) -> bool:
    size = wanted.vocabulary_size or model.vocabulary_size
    return model == dataclasses.replace(wanted, vocabulary_size=size)


def _finished(config: Config, step: int) -> str:
    return (
        f"this run is finished, at step {step}; a larger train.max_steps "
        + ("or train.patience " if config.train.patience else "")
        + "extends it"
    )


def _changed(config: Config, saved: Checkpoint, names: Collection[str]) -> list[str]:
    """Which of the keys differ from those of the run; one that it does not know had its default."""
    changed = []
    for name, item in options():
        if name in names:
            value, before = dataclasses.asdict(config), saved.config
            *holders, key = name.split(".")
            for holder in holders:
                value, before = value[holder], before.get(holder, {})
            if value[key] != before.get(key, default_of(item)):
                changed.append(name)
    return changed


def _check_unchanged(config: Config, saved: Checkpoint, corpus: Corpus, console: Console) -> None:
    """Refuse to resume with other settings or data, unless resume=force."""
    groups = ("data", "model", "optimizer", "train")
    fixed = {name for name, _ in options() if name.partition(".")[0] in groups or name == "seed"}
    changed = _changed(config, saved, fixed - _END_KEYS - {"data.path"})
    shape = [
        name
        for name in changed
        if name == "optimizer.kind" or (name.startswith("model.") and name not in _HOW_KEYS)
    ]
    if saved.data["sha256"] != corpus.sha256:
        changed.append("the data itself")
    if not changed:
        return
    differs = f"differs from the run in {config.run_dir}: {', '.join(changed)}"
    if config.resume == "force" and not shape:
        console.notice(f"going on though what you ask for {differs}")
        return
    forced = "" if shape else ", or give resume=force"
    raise ConfigError(f"what you ask for {differs}. Leave it as it was{forced}")
