"""What happens to a run: the trainer's own events and others; and what a person is told of each."""

import math
from dataclasses import dataclass
from pathlib import Path

from seqkit.foundation.processes import ALONE, Rank
from seqkit.foundation.wording import command_line, counted, duration, percent, visible_line
from seqkit.training import events as training
from seqkit.training.events import Trained, Validated


@dataclass(frozen=True)
class Started:
    """A training begins, or goes on where it stood (`step` above 0).

    `total_steps` is 0 where it ends by the clock: see `Trained`.
    """

    step: int
    total_steps: int
    symbols: int
    data: str
    vocabulary: int
    parameters: int
    device: str
    precision: str
    run_dir: Path


@dataclass(frozen=True)
class Sampled:
    """A sample of the network as it is now was written to `file`; `preview` shows it in lines."""

    step: int
    file: Path
    preview: str


@dataclass(frozen=True)
class Stopped:
    """The training was asked to stop, and its state is saved."""

    step: int
    reason: str
    run_dir: Path
    plugins: tuple[str, ...] = ()
    """The modules that have to be given again."""
    rank: Rank = ALONE
    """Of this process among those that train together."""


@dataclass(frozen=True)
class Diverged:
    """The training ended because its numbers were not finite any more."""

    step: int
    reason: str


@dataclass(frozen=True)
class Finished:
    """The training came to its end, after so many seconds of wall time; stops do not count."""

    step: int
    seconds: float
    best_loss: float | None
    run_dir: Path
    plugins: tuple[str, ...] = ()
    """The modules that have to be given again."""


Event = training.Event | Started | Sampled | Stopped | Diverged | Finished


def describe(event: Event) -> str | None:
    """The line that belongs into the log, if the event has one."""
    match event:
        case Started():
            data = visible_line(event.data)
            verb = f"going on at step {event.step}" if event.step else "training"
            return (
                f"{verb}: {event.symbols:,} symbols of {data}, vocabulary {event.vocabulary}; "
                f"{event.parameters:,} parameters; {event.device}, {event.precision}; "
                f"into {event.run_dir}"
            )
        case Validated():
            share = percent(event.scored / event.total)
            more = f", on {share} of the validation part" * (event.scored < event.total)
            more += "" if event.improved else f" (best {event.best_loss:.4f})"
            more += ", average of the weights" if event.weights == "average" else ""
            more += f", temperature {event.temperature:g}" if event.temperature != 1 else ""
            return (
                f"step {event.step}: validation loss {event.loss:.4f} nats, "
                f"{event.bits_per_symbol:.3f} bits/symbol{more}"
            )
        case Stopped():
            return (
                f"stopped by {event.reason} at step {event.step}; the state is saved: go on with: "
                + go_on_with(event.run_dir, event.plugins, event.rank)
            )
        case Diverged():
            return event.reason
        case Finished():
            best = event.best_loss
            loss = "" if best is None else f"; best validation loss {best:.4f}"
            words = "generate", f"checkpoint={event.run_dir}"
            return (
                f"finished: {counted(event.step, 'step')} in {duration(event.seconds)}{loss}; "
                f"generate with: {command_line(*words, plugins=event.plugins)}"
            )
        case _:
            return None


def go_on_with(run_dir: Path, plugins: tuple[str, ...], rank: Rank) -> str:
    """The command line that goes on with a run, in as many processes."""
    return command_line(f"run_dir={run_dir}", "resume=auto", plugins=plugins, rank=rank)


def readings(event: Trained) -> list[str]:
    """Loss, speed and more, in order of importance."""
    shown = [
        f"loss {event.loss:.3f}",
        f"{event.symbols_per_second:,.0f} symbols/s",
        f"{event.loss / math.log(2):.2f} bits/symbol",
    ]
    if event.left_out:
        shown.insert(1, counted(event.left_out, "step") + " left out")
    if event.gradient_norm is not None:
        shown.append(f"gradient {event.gradient_norm:.2f}")
    return shown
