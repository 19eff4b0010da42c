"""`train`: data in, checkpoints, metrics and a sample out."""

import contextlib
import sys
from functools import partial

from seqkit.api.run_files import closing_file, closing_sample, finish_closing_sample
from seqkit.api.run_training import advice, run_training
from seqkit.commands import outputs
from seqkit.commands.interrupts import Interrupts, ended_by_signals
from seqkit.commands.outputs import Sample
from seqkit.config import Config
from seqkit.foundation import device, processes
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Bar, Console
from seqkit.foundation.errors import NOT_BEGUN, LostProcessError, OutputError, StoppedError
from seqkit.foundation.ranks import Session, joined
from seqkit.runs.events import Diverged, Event, Sampled, Stopped, describe, readings
from seqkit.stages.network import SMALLER
from seqkit.stages.training import Training, set_up
from seqkit.training.events import Trained


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Train, and print a sample of the best checkpoint to stdout.

    With torchrun this is one of several processes that train together.
    """
    with contextlib.ExitStack() as held:
        with ended_by_signals(NOT_BEGUN):
            ranks = joined(processes.own_rank(), console.progress)
            session = Session(catalogue, console.notice, console.progress, ranks)
            with console.progress("setting up"):
                training = held.enter_context(set_up(config, session))
        if training is None:
            return
        _train(training, console)
        if ranks.leads:
            _print_sample(training, console)


def _train(training: Training, console: Console) -> None:
    """Train to the end, or until a signal comes. Raises StoppedError, InterruptedRunError."""
    trainer = training.trainer
    bar = console.progress("step", trainer.total_steps, trainer.progress.step, "steps")
    with Interrupts(at_once=False) as interrupts, bar as shown:

        def reason() -> str | None:
            return interrupts.received.name if interrupts.received else None

        try:
            run_training(training, [partial(_show, console, shown)], console.notice, stop=reason)
        except (LostProcessError, OutputError) as error:
            raise type(error)(f"{error}. {advice(training)}") from error
        except StoppedError as error:
            raise interrupts.failure(str(error)) from error
        except KeyboardInterrupt as error:
            if interrupts.received is None:  # it came while the training was set up
                raise
            again = f"another signal after {reason()} ended the training at once"
            raise interrupts.failure(f"{again}. {advice(training)}") from error
        if interrupts.received is not None:  # after the last step
            raise interrupts.failure(f"stopped by {reason()}; the run is finished and saved")


def _print_sample(training: Training, console: Console) -> None:
    """Text to stdout while it is made; sound to a file of the run, whose name is printed."""
    closing = training.closing
    medium, streams = closing.medium, closing.request.streams
    if medium.printed and sys.__stdout__ is None:
        console.notice("stdout is closed: no closing sample is printed")
        return
    codec = training.data.corpus.codec
    if codec.kind == "audio":  # text is seen as it is made
        seconds = closing.request.length / codec.symbol_rate
        console.notice(f"making the closing sample, {seconds:.3g} s of sound")
    with ended_by_signals() as interrupts, device.memory_errors(SMALLER):
        with console.progress("setting up"):
            blocks = closing_sample(training, console.notice)
        length = closing.request.length
        sample = Sample(medium, closing.prompt, length, console, interrupts, streams)
        blocks = sample.watched(blocks)
        if medium.printed:
            sample.document = training.config.data.document
            (sample.write_all if streams > 1 else sample.print_one)(blocks)
        else:
            file = closing_file(training)
            try:
                sample.write_files(blocks, [file], overwrite=True)
            except KeyboardInterrupt:
                finish_closing_sample(training, console.notice)
                raise
            outputs.print_names([file])
    with console.progress("judging and drawing"):
        finish_closing_sample(training, console.notice)


def _show(console: Console, bar: Bar, event: Event) -> None:
    """stderr: a bar, and a line for whatever is worth one."""
    match event:
        case Trained():
            bar.update(event.step, *readings(event), total=event.total_steps)
        case Stopped() | Diverged():
            return  # the command ends with these words
        case Sampled():
            console.notice("\n".join("    " + line for line in event.preview.split("\n")))
    if line := describe(event):
        console.notice(line)
