"""`train`: data in, checkpoints, metrics and a sample out."""

import dataclasses
import math
import signal
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from seqkit import checkpoint, device, paths, plans
from seqkit.checkpoint import Checkpoint
from seqkit.codecs import Quantiser, Symbols
from seqkit.commands import material, products
from seqkit.commands.generate import continue_prompt
from seqkit.config import Config, ModelConfig, check_model, default_of, options
from seqkit.console import Bar, Console, Product, duration, to_bytes
from seqkit.corpus import Corpus, Part
from seqkit.errors import (
    CheckpointError,
    ConfigError,
    InterruptedRunError,
    OutputError,
    StoppedError,
)
from seqkit.lanes import Lanes
from seqkit.model import CharRNN
from seqkit.run_folder import RunFolder
from seqkit.step import Plan
from seqkit.training import CheckpointDue, Event, Stepped, Trained, Trainer, Validated

_GLIMPSE = 160  # symbols of the sample at a validation
_GLIMPSE_SECONDS = 1.0  # of sound
_ESTIMATE_STEP = 20  # after so many steps the time that a slow machine needs is known
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
    saved = folder.load_last(console.notice) if config.resume != "never" else None
    if saved is None and config.resume == "force":
        raise CheckpointError(f"resume=force: {folder.path} holds no run to go on with")
    if saved is not None and folder.finished and not _changed(config, saved, _END_KEYS):
        console.notice(f"{folder.path}: {_finished(config, saved.metrics['step'])}")
        return
    origin = saved
    if origin is None and config.init_from is not None:
        origin = checkpoint.load(checkpoint.find(Path(config.init_from)))
    chosen = device.choose(config.device)
    precision = device.choose_precision(config.train.precision, chosen)
    device.set_deterministic(config.train.deterministic)
    if config.data.path:
        config.data.path = str(Path(config.data.path).absolute())
    corpus = material.load_corpus(config.data, console, origin.codec if origin else None)
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
    with device.memory_errors(lambda: _smaller(config, model_config, chosen)):
        if origin is not None:
            model = dataclasses.replace(origin, model=model_config).build(chosen)
            if not _same_shape(model_config, config.model):
                console.notice("the model is that of the checkpoint, not what model.* asks for")
        else:
            generator = torch.Generator().manual_seed(config.seed)
            model = CharRNN(model_config, generator).to(chosen)
        start = corpus.codec.start
        plan = _plan(config, model, lanes, precision, saved, console)
        trainer = Trainer(
            model, lanes, validation, start, config.optimizer, settings, config.seed, plan
        )
        if saved is not None:
            trainer.restore(saved.training or {}, saved.training_tensors)
            if trainer.finished and folder.finished:
                console.notice(f"{folder.path}: {_finished(config, trainer.progress.step)}")
                return
        if reason := trainer.prepare():
            console.notice(reason)
        job = _Job(config, console, folder, corpus, validation, prompt, trainer, plan.precision)
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


def _plan(
    config: Config,
    model: CharRNN,
    lanes: Lanes,
    precision: str,
    saved: Checkpoint | None,
    console: Console,
) -> Plan:
    """How the network runs: as the run did before if it can, else as a search finds it fastest."""
    precisions = [precision]
    if model.head.weight.device.type == "cuda":
        precisions = device.candidate_precisions(config.train.precision, precision)
        if rule := plans.missed(model):
            console.notice(rule)
    before = saved.training.get("plan") if saved is not None and saved.training else None
    for plan in plans.candidates(model, lanes, precisions):
        if dataclasses.asdict(plan) == before:
            return plan
    # Two searches may end differently: what is to repeat bit by bit is not searched for.
    search = config.model.autotune and not config.train.deterministic
    choice = plans.choose(model, lanes, precisions, paths.cache_dir(), search)
    if choice.milliseconds or before:
        console.notice(f"kernels: {choice}")
    return choice.plan


def _smaller(config: Config, model: ModelConfig, chosen: torch.device) -> str:
    """What to try when memory does not suffice."""
    if chosen.type == "cuda":
        precision = device.choose_precision(config.train.precision, chosen)
        lanes = plans.fitting_lanes(model, config.train.sequence_length, precision, chosen)
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


@dataclass
class _Job:
    """One training with its folder: turns the trainer's events into files and lines."""

    config: Config
    console: Console
    folder: RunFolder
    corpus: Corpus
    validation: Part
    prompt: Symbols
    trainer: Trainer
    precision: str

    def run(self) -> None:
        """Train to the end, or until a signal comes."""
        trainer, folder = self.trainer, self.folder
        if self.config.overwrite and self.config.resume == "never":
            folder.clear()
        folder.reopen(trainer.progress.step)
        folder.write_config(self.config)
        self._announce()
        progress = self.console.progress("step", trainer.total_steps, trainer.progress.step)
        with _stop_signals() as stop, progress as bar:
            for event in trainer.run():
                if not isinstance(event, Stepped):
                    self._handle(event, bar)
                elif stop.received:
                    self._stop(stop.received)
        self._finish()

    def _announce(self) -> None:
        model, progress = self.trainer.model, self.trainer.progress
        verb = f"going on at step {progress.step}" if progress.step else "training"
        self._tell(
            f"{verb}: {len(self.corpus.whole):,} symbols of {self.corpus.name}, "
            f"{self.corpus.codec.size} distinct; {_parameters(model):,} parameters; "
            f"{device.describe(model.head.weight.device)}, {self.precision}; "
            f"into {self.folder.path}"
        )

    def _handle(self, event: Event, bar: Bar) -> None:
        match event:
            case Trained():
                self.folder.record("train", vars(event))
                bits = event.loss / math.log(2)
                text = (
                    f"loss {event.loss:.3f}  {bits:.2f} bits/symbol  "
                    f"{event.symbols_per_second:,.0f} symbols/s"
                )
                bar.update(event.step, text, important=event.step == 1)
                if event.step == _ESTIMATE_STEP:
                    self._estimate(event)
            case Validated():
                values = {key: value for key, value in vars(event).items() if key != "improved"}
                self.folder.record("validate", values)
                if event.improved:
                    self.folder.save_best(self._checkpoint())
                self._tell(
                    f"step {event.step}: validation loss {event.loss:.4f} nats, "
                    f"{event.bits_per_symbol:.3f} bits/symbol"
                    + ("" if event.improved else f" (best {self.trainer.progress.best_loss:.4f})")
                )
                self._glimpse(event.step)
            case CheckpointDue():
                self._save()

    def _save(self) -> None:
        saved = self._checkpoint()
        self.folder.save(saved)
        if not len(self.validation):
            self.folder.save_best(saved)

    def _estimate(self, event: Trained) -> None:
        """Say how long it takes where the processor is slow at this."""
        if self.precision == "fp32" and self.config.train.precision == "auto":
            left = (self.trainer.total_steps - event.step) * event.seconds / event.step
            self.console.notice(
                "this processor has no fast bf16 arithmetic, so that training takes two to three "
                f"times as long as with it: {duration(left)} more"
            )

    def _glimpse(self, step: int) -> None:
        """A short sample on stderr and in samples/, so that one sees it learn."""
        codec, samples = self.corpus.codec, self.folder.path / "samples"
        if isinstance(codec, Quantiser):
            length = min(round(_GLIMPSE_SECONDS * codec.sample_rate), self._length)
            file = samples / f"step_{step:07}.wav"
            products.keep_sound(self._sample(self.trainer.model, length), codec, self.prompt, file)
            self.console.notice(f"    {file}")
            return
        symbols = self._sample(self.trainer.model, _GLIMPSE)
        text = b"".join(to_bytes(codec.decode(new)) for new in symbols)
        text = to_bytes(codec.decode(self.prompt)) + text
        (samples / f"step_{step:07}.txt").write_bytes(text)
        shown = text.decode("utf-8", "replace").strip("\n")
        self.console.notice("\n".join("    " + line for line in shown.split("\n")))

    def _sample(self, model: CharRNN, length: int) -> products.Steps:
        config = dataclasses.replace(self.config, streams=1)
        if length <= _GLIMPSE:  # the engine that takes no time to set up
            config.sample = dataclasses.replace(config.sample, engine="torch", precision="auto")
        return continue_prompt(model, self.corpus.codec, self.prompt, config, length, self.console)

    def _stop(self, received: int) -> None:
        self._save()
        name = signal.Signals(received).name
        message = (
            f"stopped by {name} at step {self.trainer.progress.step}; the state is saved: "
            f"go on with run_dir={self.folder.path} resume=auto"
        )
        self.folder.note(message)
        raise InterruptedRunError(message) if received == signal.SIGINT else StoppedError(message)

    def _finish(self) -> None:
        best = checkpoint.load(checkpoint.find(self.folder.path))
        progress, model = self.trainer.progress, self.trainer.model
        chosen = model.head.weight.device
        self.folder.write_summary(
            {
                "recipe": self.config.recipe,
                "device": device.describe(chosen),
                "dtype": self.precision,
                "parameters": _parameters(model),
                "steps": progress.step,
                "symbols": progress.symbols,
                "train_seconds": progress.seconds,
                "best_validation_loss": progress.best_loss,
                "best_step": progress.best_step if progress.best_loss is not None else None,
                "data": {"name": self.corpus.name, "sha256": self.corpus.sha256},
                "versions": material.versions(),
            }
        )
        loss = ""
        if progress.best_loss is not None:
            loss = f"; best validation loss {progress.best_loss:.4f}"
        self._tell(
            f"finished: {progress.step} steps in {duration(progress.seconds)}{loss}; "
            f"generate with: python -m seqkit generate checkpoint={self.folder.path}"
        )
        codec, steps = self.corpus.codec, self._sample(best.build(chosen), self._length)
        if isinstance(codec, Quantiser):
            file = self.folder.path / "samples" / "final.wav"
            products.keep_sound(steps, codec, self.prompt, file)
            product = Product()
            product.write(f"{file}\n")
            product.flush()
        else:
            products.print_text(steps, codec, self.prompt)

    @property
    def _length(self) -> int:
        return material.length(self.config, self.corpus.codec)

    def _checkpoint(self) -> Checkpoint:
        progress = self.trainer.progress
        values, tensors = self.trainer.state()
        return Checkpoint(
            model=self.trainer.model.config,
            codec=self.corpus.codec,
            weights=dict(self.trainer.model.state_dict()),
            config=dataclasses.asdict(self.config),
            data={"name": self.corpus.name, "sha256": self.corpus.sha256},
            metrics={
                "step": progress.step,
                "symbols": progress.symbols,
                "train_seconds": progress.seconds,
                "best_validation_loss": progress.best_loss,
                "best_step": progress.best_step,
            },
            versions=material.versions(),
            training=values,
            training_tensors=tensors,
        )

    def _tell(self, text: str) -> None:
        self.console.notice(text)
        self.folder.note(text)


def _parameters(model: CharRNN) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


class _Stop:
    """Which signal asked the training to stop, if one did."""

    received = 0


@contextmanager
def _stop_signals() -> Iterator[_Stop]:
    """Note SIGINT, SIGTERM and SIGHUP instead of ending at once; a second Ctrl-C does end it."""
    stop = _Stop()

    def note(received: int, frame: Any) -> None:
        del frame
        stop.received = received
        signal.signal(signal.SIGINT, signal.default_int_handler)

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    known = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
    # What is ignored stays so: nohup means it.
    wanted = [number for number in known if number and signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, note) for number in wanted}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
