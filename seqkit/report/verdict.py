"""Did it learn, where does it stand, and what to try next: in sentences for a newcomer."""

import math
from dataclasses import dataclass
from typing import Literal

from seqkit.evaluation import baseline_names
from seqkit.foundation.wording import percent
from seqkit.report import next_command
from seqkit.report.baselines import baselines, guess, noun
from seqkit.report.diagnosis import BEATEN, diagnosis, trouble
from seqkit.report.heard import fault
from seqkit.runs.record import Record

_CERTAIN = 0.05  # nats below which next to nothing is left to choose among
_MOST_DROPOUT = 0.5
_HEARD = {
    "silence": "Its last sample is silence: cut the silence out of the recordings, or generate "
    "with temperature=1.",
    "noise": "Its last sample is noise: more sound may mend that, or more steps while the loss "
    "still falls.",
}


@dataclass(frozen=True)
class Verdict:
    """What the page says first, and a command to try, if there is one."""

    finding: str
    advice: str
    command: str = ""


def tells_nothing(record: Record) -> bool:
    """Whether the validation part is nearly constant, so that any model is certain of it."""
    bits = record.number("baselines", "histogram_bits")
    kept = len(record.metrics.validation.values) > 0
    return kept and bits is not None and bits < baseline_names.CONSTANT_BITS


def choices(nats: float) -> str:
    """A loss as the number of equally likely symbols to choose among."""
    return f"{math.exp(min(nats, 50)):.3g}"


def judge(record: Record) -> Verdict:
    """The sentences for a run."""
    if record.state == "diverged":
        return _diverged(record)
    if not len(record.metrics.train["loss"].steps) and not len(record.metrics.validation.steps):
        if record.state == "running":
            return Verdict(
                "The training has just begun: nothing is measured yet.", "Look again later."
            )
        return Verdict(
            "The training ended before anything was measured.", "The file log may say why."
        )
    finding = _finding(record) + _of_a_part(record.metrics.share)
    if record.state == "finished" and tells_nothing(record):
        return Verdict(
            finding,
            "Give it another validation part, as in data.split=0.8,0.1,0.1, or leave out of the "
            "data what is the same throughout; the samples say more of this run than its losses.",
        )
    if record.state == "running":
        return Verdict(finding, _of_trouble(record, trouble(record)) or _waiting(record))
    if record.state != "finished":
        return _unfinished(record, finding)
    return _finished(record, finding)


def _finding(record: Record) -> str:
    """Whether it learned, and where it stands."""
    metrics, one = record.metrics, noun(record)
    validation, losses = metrics.validation, metrics.train["loss"].values
    if not len(validation.values):
        fell = f"from {losses[0]:.3f} to {metrics.train['loss'].recent:.3f} nats a {one}"
        if record.state == "running":
            return f"No validation yet. The training loss went {fell}."
        return (
            f"The training loss went {fell}. There was no validation, so nobody knows how well "
            "the network does on what it has not seen."
        )
    if tells_nothing(record):
        return (
            f"The validation part is nearly the same {one} throughout, as silence is: the loss on "
            "it tells nothing."
        )
    best = float(validation.values.min())
    step = int(validation.steps[validation.values.argmin()])
    standing = (
        f"At step {step:,} it is as unsure about the next {one} as if it had to choose among "
        f"{choices(best)} equally likely ones"
    )
    if best < _CERTAIN:
        standing = f"At step {step:,} it is nearly certain of every next {one}"
    known = {baseline.brief: baseline for baseline in baselines(record)}
    guessing = guess(record)
    so_far = " so far" if record.state == "running" else ""
    if guessing is None:
        learned = best < BEATEN * float(losses[0] if len(losses) else validation.values[0])
        return f"{'It learned' if learned else 'It has hardly learned'}{so_far}. {standing}."
    if best >= BEATEN * guessing.nats:
        return (
            f"It has not learned{so_far}: it is no better than {guessing.name}. {standing}; "
            f"for {guessing.name} they are {choices(guessing.nats)}."
        )
    beside = f"for {guessing.name} they are {choices(guessing.nats)}"
    if best < _CERTAIN:
        beside = f"{guessing.name} leaves {choices(guessing.nats)} equally likely ones"
    told = f"It learned{so_far}. {standing}; {beside}."
    stronger = [known[name] for name in ("last two", "FLAC") if name in known]
    if not stronger:
        return told
    beaten = [baseline.name for baseline in stronger if best < baseline.nats]
    ahead = [baseline.name for baseline in stronger if best >= baseline.nats]
    told += f" It beats {' and '.join(beaten)}." if beaten else ""
    return told + (f" It does not beat {' and '.join(ahead)}." if ahead else "")


def _of_a_part(share: float) -> str:
    """That not all of the validation part was scored, if that is so."""
    if share == 1:
        return ""
    return (
        f" Its losses are on {percent(share)} of the validation part, for which there was time: "
        "evaluate gives the loss on all of it."
    )


def _diverged(record: Record) -> Verdict:
    step = record.number("ended", "step")
    at = f" at step {step:,.0f}" if step is not None else ""
    settings = record.settings
    lower = "Try a smaller optimizer.lr"
    if settings:
        lower += f", such as {settings.optimizer.lr / 3:.2g} in place of {settings.optimizer.lr:g}"
        lower += "" if settings.train.clip_norm else ", and train.clip_norm=1"
    return Verdict(f"The training diverged{at}: its numbers were not finite any more.", f"{lower}.")


def _waiting(record: Record) -> str:
    done, total = record.metrics.step, record.number("total_steps")
    of = f" of {total:,.0f}" if total else ""
    return f"It is still going, at step {done:,}{of}: look again later."


def _unfinished(record: Record, finding: str) -> Verdict:
    total = record.number("total_steps")
    of = f" of {total:,.0f}" if total else ""
    words = {
        "stopped": f"It was stopped after step {record.metrics.step:,}{of}",
        "pruned": f"The search ended it after step {record.metrics.step:,}{of}: other settings do "
        "better",
        "ended": f"It ended early, after step {record.metrics.step:,}{of}: the file log may say "
        "why",
    }
    said, command = next_command.go_on(record)
    return Verdict(finding, f"{words[record.state]}. {said}", command)


def _finished(record: Record, finding: str) -> Verdict:
    if heard := fault(record):
        finding += f" {_HEARD[heard]}"
    shown, settings = diagnosis(record), record.settings
    match shown:
        case "jumped" | "overfitting":
            return Verdict(finding, _of_trouble(record, shown))
        case "by heart":
            return Verdict(
                finding,
                "It knows its training data by heart: it does far better on these than on what it "
                f"has not seen. Try {_dropout(record)}, or more data.",
            )
        case "short":
            return _longer(record, finding, "It was too short to tell more: train for more steps")
        case "falling":
            advice = "The loss was still falling at the end, so more steps will help"
            return _longer(record, finding, advice)
        case "apart":
            return Verdict(
                finding,
                "It has levelled off, and it does much better on its training data than on "
                f"what it has not seen. Try {_dropout(record)}, or more data.",
            )
        case "unlearned":
            return Verdict(
                finding,
                "It has levelled off without learning: try a smaller optimizer.lr"
                f"{_lower(record)}, and look at the data with doctor.",
            )
    wider = f", such as model.hidden_size={2 * settings.model.hidden_size}" if settings else ""
    return Verdict(
        finding, f"It has levelled off: more steps bring little. Try a larger network{wider}."
    )


def _longer(record: Record, finding: str, advice: str) -> Verdict:
    """That the run should go on, and how."""
    if command := next_command.more(record):
        return Verdict(finding, f"{advice}:", command)
    said, command = next_command.go_on(record)
    return Verdict(finding, f"{advice}. {said}", command)


def _of_trouble(record: Record, shown: Literal["jumped", "overfitting"] | None) -> str:
    """A fault that the curves show, and what to do about it; empty without one."""
    if shown is None:
        return ""
    validation = record.metrics.validation
    step = int(validation.steps[validation.values.argmin()])
    if shown == "jumped":
        return (
            f"After step {step:,} the loss jumped up: try a smaller optimizer.lr{_lower(record)}."
        )
    return (
        f"Since step {step:,} the validation loss has risen while the training loss fell: the "
        f"network learns its training data by heart. The checkpoint of step {step:,} was kept as "
        f"the best. Try {_dropout(record)}, a smaller network, train.patience=3, or more data."
    )


def _lower(record: Record) -> str:
    """A smaller learning rate than that of a run, if that is known."""
    return f", such as {record.settings.optimizer.lr / 3:.2g}" if record.settings else ""


def _dropout(record: Record) -> str:
    now = record.settings.model.dropout if record.settings else 0.0
    if now >= _MOST_DROPOUT:
        return "a smaller network"
    return f"model.dropout={min(now + 0.2, _MOST_DROPOUT):g}"
