"""A training under way: the trainer's events become files, lines and samples."""

import dataclasses
import math
import signal
from dataclasses import dataclass
from typing import Any

import numpy as np

from seqkit import device
from seqkit.commands import material, outputs
from seqkit.commands.interrupts import Interrupts
from seqkit.config import Config
from seqkit.console import Bar, Console, Product, duration
from seqkit.data.corpus import Corpus, Part
from seqkit.errors import InterruptedRunError, StoppedError
from seqkit.generation.continuation import continue_prompt
from seqkit.generation.engine import Blocks
from seqkit.generation.medium import medium_of
from seqkit.generation.request import request_of
from seqkit.model.char_rnn import CharRNN
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder
from seqkit.symbols import Symbols
from seqkit.training.events import CheckpointDue, Event, SampleDue, Stepped, Trained, Validated
from seqkit.training.trainer import Trainer

_FEW = 160  # symbols of a short sample
_ESTIMATE_STEP = 20  # after so many steps the time that a slow machine needs is known


@dataclass
class Job:
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
        with Interrupts(at_once=False) as interrupts, progress as bar:
            for event in trainer.run():
                if not isinstance(event, Stepped):
                    self._handle(event, bar)
                elif interrupts.received:
                    with interrupts.held():
                        self._stop(interrupts.received)
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
                self.folder.record("train", _without(event, "gradient_norm"))
                bits = event.loss / math.log(2)
                text = (
                    f"loss {event.loss:.3f}  {bits:.2f} bits/symbol  "
                    f"{event.symbols_per_second:,.0f} symbols/s"
                )
                if event.gradient_norm is not None:
                    text += f"  gradient {event.gradient_norm:.2f}"
                bar.update(event.step, text, important=event.step == 1)
                if event.step == _ESTIMATE_STEP:
                    self._estimate(event)
            case Validated():
                self.folder.record("validate", _without(event, "improved"))
                if event.improved:
                    self.folder.save_best(self._checkpoint())
                self._tell(
                    f"step {event.step}: validation loss {event.loss:.4f} nats, "
                    f"{event.bits_per_symbol:.3f} bits/symbol"
                    + ("" if event.improved else f" (best {self.trainer.progress.best_loss:.4f})")
                )
            case CheckpointDue():
                self._save()
            case SampleDue():
                self._glimpse(event.step)

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
        medium = medium_of(self.corpus.codec)
        length = medium.glimpse if medium.printed else min(medium.glimpse, self._length)
        blocks = self._sample(self.trainer.evaluation_model(), length)
        symbols = np.concatenate([self.prompt, *(block[:, 0] for block in blocks)])
        file = medium.save(symbols, self.folder.path / "samples" / f"step_{step:07}")
        self.console.notice(medium.preview(symbols, file))

    def _sample(self, model: CharRNN, length: int) -> Blocks:
        request = dataclasses.replace(request_of(self.config, length), streams=1)
        if length <= _FEW:  # the engine that takes no time to set up
            request = dataclasses.replace(request, engine="torch", precision="auto")
        return continue_prompt(model, self.corpus.codec, self.prompt, request, self.console.notice)

    def _stop(self, received: signal.Signals) -> None:
        self._save()
        message = (
            f"stopped by {received.name} at step {self.trainer.progress.step}; the state is saved: "
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
        medium, blocks = (
            medium_of(self.corpus.codec),
            self._sample(best.build(chosen), self._length),
        )
        if medium.printed:
            outputs.print_stream(blocks, medium, self.prompt, self._length, self.console)
            return
        symbols = np.concatenate([self.prompt, *(block[:, 0] for block in blocks)])
        file = medium.save(symbols, self.folder.path / "samples" / "final")
        product = Product()
        product.write(f"{file}\n")
        product.flush()

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


def _without(event: Event, key: str) -> dict[str, Any]:
    """What metrics.jsonl keeps of an event."""
    return {name: value for name, value in vars(event).items() if name != key}


def _parameters(model: CharRNN) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
