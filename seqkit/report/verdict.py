"""Did it learn, where does it stand, and what to try next: in sentences for a newcomer.

The page of a run, `doctor run_dir=` and the training itself say what is decided here.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqkit.evaluation.baseline_names import CONSTANT_BITS
from seqkit.foundation.wording import percent
from seqkit.report import next_command
from seqkit.report.baselines import baselines, guess, noun
from seqkit.report.diagnosis import BEATEN, Diagnosis, diagnosis, trouble
from seqkit.report.heard import fault
from seqkit.runs import record as records
from seqkit.runs.layout import require_run
from seqkit.runs.record import Record

_MOST_DROPOUT = 0.5
_HEARD = {
    "silence": "Its last sample is silence: cut the silence out of the recordings, or generate "
    "with temperature=1.",
    "noise": "Its last sample is noise: more sound may mend that, or more steps while the loss "
    "still falls.",
}
_ENDED = {
    "stopped": "It was stopped after step {}",
    "pruned": "The search ended it after step {}: other settings do better",
    "ended": "It ended early, after step {}: the file log may say why",
}


@dataclass(frozen=True)
class Verdict:
    """What is said first of a run, and a command to try, if there is one."""

    finding: str
    advice: str
    command: str = ""


def of_folder(path: Path) -> dict[str, Any]:
    """What is to be said of the run in a folder, as JSON values; see docs/doctor.md.

    Raises:
        CheckpointError: there is no run, or the folder cannot be read.
    """
    require_run(path)
    record = records.read(path)
    verdict, metrics = judge(record), record.metrics
    step, loss = record.best or (None, None)
    return {
        "run_dir": str(path),
        "state": record.state,
        "step": metrics.step,
        "train_seconds": metrics.seconds,
        "best_validation_loss": loss,
        "best_step": step,
        "last_validation_loss": None if loss is None else float(metrics.validation.values[-1]),
        "baselines": {baseline.brief: baseline.nats for baseline in baselines(record)},
        "finding": verdict.finding,
        "advice": verdict.advice,
        "command": verdict.command or None,
        "problems": record.problems,
    }


def warning(record: Record) -> str:
    """What a training has to be told while it runs, and at its end; empty while all is well."""
    if record.best is None:
        return ""
    if _tells_nothing(record):
        return _NOTHING.format(noun(record))
    shown, loss = trouble(record), record.best[1]
    known = baselines(record)
    best = min(known, key=lambda one: one.nats, default=None)
    if record.state == "running":
        return _of_trouble(record, shown) if shown else ""
    if best is None or loss <= best.nats:
        return ""
    blind = next((one for one in known if one.brief == "blind guess" and loss > one.nats), best)
    said = _advice(record, shown or diagnosis(record))
    return (
        f"on the validation part the model is worse than {blind.name}, which needs no training: "
        f"{_bits(loss)} bits a {noun(record)}, and {_bits(blind.nats)}. {said}"
    )


def judge(record: Record) -> Verdict:
    """The sentences for a run."""
    train, validation = record.metrics.train["loss"], record.metrics.validation
    if record.state == "diverged":
        return _diverged(record)
    if not len(train.steps) and not len(validation.steps):
        if record.state == "running":
            return Verdict("The training has just begun: nothing is measured yet.", "Look later.")
        return Verdict("It ended before anything was measured.", "The file log may say why.")
    finding, share = _finding(record), record.metrics.share
    if share != 1:
        finding += (
            f" Its losses are on {percent(share)} of the validation part: evaluate gives the loss "
            "on all of it."
        )
    total = record.number("total_steps")
    at = f"{record.metrics.step:,}" + (f" of {total:,.0f}" if total else "")
    if record.state == "running":
        seen = trouble(record)
        going = f"It is still going, at step {at}: look again later."
        return Verdict(finding, _of_trouble(record, seen) if seen else going)
    if record.state != "finished":
        command = next_command.resume(record) if record.settings else ""
        goes_on = "This goes on with it:" if command else "Its settings cannot be read."
        return Verdict(finding, f"{_ENDED[record.state].format(at)}. {goes_on}", command)
    if _tells_nothing(record):
        return Verdict(
            finding,
            "Give it another validation part, as in data.split=0.8,0.1,0.1, or leave out of the "
            "data what is the same throughout; the samples say more of this run than its losses.",
        )
    if heard := fault(record):
        finding += f" {_HEARD[heard]}"
    shown = diagnosis(record)
    command = next_command.more(record) if shown in ("short", "falling") else ""
    return Verdict(finding, _advice(record, shown), command)


_NOTHING = (
    "The validation part is nearly the same {} throughout, as silence is: the loss on it tells "
    "nothing."
)


def _tells_nothing(record: Record) -> bool:
    """Whether the validation part is nearly constant, so that any model is certain of it."""
    bits = record.number("baselines", "histogram_bits")
    return record.best is not None and bits is not None and bits < CONSTANT_BITS


def _finding(record: Record) -> str:
    """Whether it learned, and where it stands."""
    one, losses = noun(record), record.metrics.train["loss"].values
    so_far = " so far" if record.state == "running" else ""
    if record.best is None:
        said = "No validation yet" if so_far else "There was no validation, of what it has not seen"
        recent = record.metrics.train["loss"].recent
        return f"{said}. The training loss went from {losses[0]:.3f} to {recent:.3f} nats a {one}."
    if _tells_nothing(record):
        return _NOTHING.format(one)
    step, best = record.best
    standing = f"At step {step:,} it needs {_bits(best)} bits a {one}"
    guessing = guess(record)
    if guessing is None:
        first = float(losses[0] if len(losses) else record.metrics.validation.values[0])
        learned = "It learned" if best < BEATEN * first else "It has hardly learned"
        return f"{learned}{so_far}. {standing}."
    standing += f", and {guessing.name} {_bits(guessing.nats)}: fewer are better."
    if best >= BEATEN * guessing.nats:
        return f"It has not learned{so_far}: it is no better than {guessing.name}. {standing}"
    stronger = [known for known in baselines(record) if known.brief in ("last two", "FLAC")]
    beaten = " and ".join(known.name for known in stronger if best < known.nats)
    ahead = " and ".join(known.name for known in stronger if best >= known.nats)
    told = f"It learned{so_far}. {standing}" + (f" It beats {beaten}." if beaten else "")
    return told + (f" It does not beat {ahead}." if ahead else "")


def _diverged(record: Record) -> Verdict:
    step = record.number("ended", "step")
    at = f" at step {step:,.0f}" if step is not None else ""
    clip = "" if record.settings and record.settings.train.clip_norm else ", and train.clip_norm=1"
    return Verdict(
        f"The training diverged{at}: its numbers were not finite any more.",
        f"Try a smaller optimizer.lr{_lower(record)}{clip}.",
    )


def _advice(record: Record, shown: Diagnosis) -> str:
    """What the curves of a finished run show, and what to try."""
    match shown:
        case "jumped" | "overfitting":
            return _of_trouble(record, shown)
        case "by heart":
            return f"It knows its training data by heart. Try {_against_learning_by_heart(record)}."
        case "short":
            return "It was too short to tell more: give it more steps or more time."
        case "falling":
            return "The loss was still falling at the end: more steps or more time will help."
        case "apart":
            return (
                "It has levelled off, and does much better on its training data than on what it "
                f"has not seen. Try {_against_learning_by_heart(record)}."
            )
        case "unlearned":
            return (
                "It has levelled off without learning: try a smaller optimizer.lr"
                f"{_lower(record)}, and look at the data with doctor."
            )
    wider = (
        record.settings and f", such as model.hidden_size={2 * record.settings.model.hidden_size}"
    )
    return f"It has levelled off: more steps bring little. Try a larger network{wider or ''}."


def _of_trouble(record: Record, shown: Diagnosis) -> str:
    """A fault that the curves show, and what to do about it."""
    assert record.best is not None
    step = record.best[0]
    if shown == "jumped":
        return (
            f"After step {step:,} the loss jumped up: try a smaller optimizer.lr{_lower(record)}."
        )
    return (
        f"It got worse after step {step:,}, which is kept as the best: it learns its training data "
        f"by heart. Try train.patience=3, {_against_learning_by_heart(record)}."
    )


def _against_learning_by_heart(record: Record) -> str:
    dropout = record.settings.model.dropout if record.settings else 0.0
    more = "more sound" if noun(record) == "sample" else "more data"
    if dropout >= _MOST_DROPOUT:
        return f"a smaller network, or {more}"
    return f"model.dropout={min(dropout + 0.2, _MOST_DROPOUT):g}, or {more}"


def _lower(record: Record) -> str:
    """A smaller learning rate than that of a run, if that is known."""
    if record.settings is None:
        return ""
    rate = record.settings.optimizer.lr
    return f", such as {rate / 3:.2g} in place of {rate:g}"


def _bits(nats: float) -> str:
    return f"{nats / math.log(2):.2f}"
