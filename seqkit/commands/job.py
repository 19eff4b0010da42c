"""A training under way: the trainer's events become files, lines and samples."""

import dataclasses
import math
import signal
from dataclasses import dataclass
from typing import Any

from seqkit import device, disk
from seqkit.commands import material, outputs
from seqkit.commands.generate import continue_prompt
from seqkit.commands.interrupts import on_signals
from seqkit.config import Config
from seqkit.console import Bar, Console, Product, duration, to_bytes
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.errors import InterruptedRunError, StoppedError
from seqkit.model.char_rnn import CharRNN
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder
from seqkit.symbols import Symbols
from seqkit.training.events import CheckpointDue, Event, Stepped, Trained, Validated
from seqkit.training.trainer import Trainer

_GLIMPSE = 160  # symbols of the sample at a validation
_GLIMPSE_SECONDS = 1.0  # of sound
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
        received: list[int] = []

        def note(number: int) -> None:
            received.append(number)
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a second Ctrl-C ends it

        with on_signals(["SIGINT", "SIGTERM", "SIGHUP"], note), progress as bar:
            for event in trainer.run():
                if not isinstance(event, Stepped):
                    self._handle(event, bar)
                elif received:
                    self._stop(received[0])
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
            outputs.keep_sound(self._sample(self.trainer.model, length), codec, self.prompt, file)
            self.console.notice(f"    {file}")
            return
        symbols = self._sample(self.trainer.model, _GLIMPSE)
        text = b"".join(to_bytes(codec.decode(new)) for new in symbols)
        text = to_bytes(codec.decode(self.prompt)) + text
        with disk.atomic_write(samples / f"step_{step:07}.txt") as stream:
            stream.write(text)
        shown = text.decode("utf-8", "replace").strip("\n")
        self.console.notice("\n".join("    " + line for line in shown.split("\n")))

    def _sample(self, model: CharRNN, length: int) -> outputs.Steps:
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
            outputs.keep_sound(steps, codec, self.prompt, file)
            product = Product()
            product.write(f"{file}\n")
            product.flush()
        else:
            outputs.print_text(steps, codec, self.prompt)

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
