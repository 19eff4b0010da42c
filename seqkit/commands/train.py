"""`train`: data in, checkpoints, metrics and a sample out."""

import dataclasses
import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from seqkit import checkpoint, device
from seqkit.checkpoint import Checkpoint
from seqkit.codecs import Symbols
from seqkit.commands import material
from seqkit.commands.generate import continue_prompt, print_text
from seqkit.config import Config, ModelConfig
from seqkit.console import Bar, Console, duration, to_bytes
from seqkit.corpus import Corpus, Lanes, Part
from seqkit.errors import (
    CheckpointError,
    ConfigError,
    InterruptedRunError,
    OutputError,
    StoppedError,
)
from seqkit.model import CharRNN
from seqkit.run_folder import RunFolder
from seqkit.training import CheckpointDue, Event, Trained, Trainer, Validated

_GLIMPSE = 160  # symbols of the sample at a validation
_ESTIMATE_STEP = 20  # after so many steps the time that a slow machine needs is known
_FREE_TO_CHANGE = frozenset(
    f"train.{key}"
    for key in ("max_steps", "max_epochs", "patience", "validate_every", "checkpoint_every")
)
"""What may differ when a run is resumed; the rest of these groups shapes what it learns."""
_FIXED_GROUPS = ("data", "model", "optimizer", "train")


def run(config: Config, console: Console) -> None:
    """Train, and print a sample of the best checkpoint to stdout."""
    folder = _folder(config)
    saved = folder.load_last() if config.resume != "never" else None
    if saved is None and config.resume == "force":
        raise CheckpointError(f"resume=force: {folder.path} holds no run to go on with")
    origin = saved
    if origin is None and config.init_from is not None:
        origin = checkpoint.load(checkpoint.find(Path(config.init_from)))
    chosen = device.choose(config.device)
    precision = _precision(config, chosen, console)
    if config.train.deterministic:
        device.make_deterministic()
    if config.data.path:
        config.data.path = str(Path(config.data.path).absolute())
    corpus = material.load_corpus(config.data, console, origin.codec if origin else None)
    if saved is not None:
        _check_unchanged(config, saved, corpus, console)
    prompt = material.read_prompt(config, corpus.codec)
    config.model = _model_config(config.model, corpus, origin)

    training, validation, _ = corpus.split(config.data.split)
    settings = config.train
    lanes = Lanes(training, corpus.codec.start, settings.batch_size, settings.sequence_length)
    with device.memory_errors("Try a smaller train.batch_size or model.hidden_size."):
        if origin is not None:
            model = origin.build(chosen)
        else:
            generator = torch.Generator().manual_seed(config.seed)
            model = CharRNN(config.model, generator).to(chosen)
        start = corpus.codec.start
        trainer = Trainer(
            model, lanes, validation, start, config.optimizer, settings, config.seed, precision
        )
        if saved is not None:
            trainer.restore(saved.training or {}, saved.training_tensors)
            if trainer.finished and folder.finished:
                console.notice(
                    f"{folder.path}: this run is finished, at step {trainer.progress.step}; "
                    "a larger train.max_steps extends it"
                )
                return
        _Job(config, console, folder, corpus, validation, prompt, trainer, precision).run()


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


def _precision(config: Config, chosen: torch.device, console: Console) -> str:
    precision = device.choose_precision(config.train.precision, chosen)
    if config.train.precision == "auto" and precision == "fp32":
        console.notice(
            "this processor has no fast bf16 arithmetic: training in fp32 takes two to three "
            "times as long; how long is said in a moment"
        )
    return precision


def _model_config(wanted: ModelConfig, corpus: Corpus, origin: Checkpoint | None) -> ModelConfig:
    """The network to train: as configured, or that of the weights to start from."""
    if origin is not None:
        return origin.model
    size = corpus.codec.size
    if wanted.vocabulary_size and wanted.vocabulary_size < size:
        raise ConfigError(
            f"model.vocabulary_size={wanted.vocabulary_size}: the data has {size} symbols; "
            "give at least as many, or 0"
        )
    return dataclasses.replace(wanted, vocabulary_size=wanted.vocabulary_size or size)


def _check_unchanged(config: Config, saved: Checkpoint, corpus: Corpus, console: Console) -> None:
    """Refuse to resume with other settings or data, unless resume=force."""
    now = dataclasses.asdict(config)
    changed = [
        f"{group}.{key}"
        for group in _FIXED_GROUPS
        for key, value in now[group].items()
        if f"{group}.{key}" not in _FREE_TO_CHANGE | {"model.vocabulary_size", "data.path"}
        and saved.config[group].get(key) != value
    ]
    if saved.config["seed"] != config.seed:
        changed.append("seed")
    if saved.data["sha256"] != corpus.sha256:
        changed.append("the data itself")
    if not changed:
        return
    differs = f"differs from the run in {config.run_dir}: {', '.join(changed)}"
    if config.resume == "force":
        console.notice(f"going on though it {differs}")
    else:
        raise ConfigError(f"what you ask for {differs}. Leave it as it was, or give resume=force")


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
        with folder.open(), _stop_signals() as stop:
            if self.config.overwrite and self.config.resume == "never":
                folder.clear()
            folder.reopen(trainer.progress.step)
            folder.write_config(self.config)
            self._announce()
            total = trainer.total_steps
            with self.console.progress("step", total, trainer.progress.step) as bar:
                for event in trainer.run():
                    self._handle(event, bar)
                    if stop.received:
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
                saved = self._checkpoint()
                self.folder.save(saved)
                if not len(self.validation):
                    self.folder.save_best(saved)
        if self.precision == "fp32" and event.step == _ESTIMATE_STEP:
            progress = self.trainer.progress
            left = progress.seconds / event.step * (self.trainer.total_steps - event.step)
            self.console.notice(f"at this rate the training takes {duration(left)} more")

    def _glimpse(self, step: int) -> None:
        """A short sample on stderr and in samples/, so that one sees it learn."""
        config = dataclasses.replace(self.config, length=_GLIMPSE, streams=1)
        codec = self.corpus.codec
        symbols = continue_prompt(self.trainer.model, codec, self.prompt, config)
        text = b"".join(to_bytes(codec.decode(new)) for new in symbols)
        text = to_bytes(codec.decode(self.prompt)) + text
        (self.folder.path / "samples" / f"step_{step:07}.txt").write_bytes(text)
        shown = text.decode("utf-8", "replace").strip("\n")
        self.console.notice("\n".join("    " + line for line in shown.split("\n")))

    def _stop(self, received: int) -> None:
        self.folder.save(self._checkpoint())
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
        loss = f"; best validation loss {progress.best_loss:.4f}" if progress.best_loss else ""
        self._tell(
            f"finished: {progress.step} steps in {duration(progress.seconds)}{loss}; "
            f"generate with: python -m seqkit generate checkpoint={self.folder.path}"
        )
        codec = self.corpus.codec
        config = dataclasses.replace(self.config, streams=1)
        print_text(
            continue_prompt(best.build(chosen), codec, self.prompt, config), codec, self.prompt
        )

    def _checkpoint(self) -> Checkpoint:
        progress = self.trainer.progress
        values, tensors = self.trainer.state()
        return Checkpoint(
            model=self.config.model,
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
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), note) for name in names}
    try:
        yield stop
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
