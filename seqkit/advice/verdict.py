"""Did it learn, where does it stand, and what to try next: in sentences for a newcomer.

The page of a run, `doctor run_dir=` and the training itself say what is decided here.
"""

import math
from pathlib import Path
from typing import Any, NamedTuple

from seqkit.advice.diagnosis import (
    BEATEN,
    Diagnosis,
    baselines,
    diagnosis,
    guess,
    is_recited,
    judge_last_sample,
    noun,
    times_too_short,
    trouble,
)
from seqkit.config import Config
from seqkit.evaluation.baselines import CONSTANT_BITS
from seqkit.foundation.processes import Rank
from seqkit.foundation.wording import command_line, percent
from seqkit.runs import record as records
from seqkit.runs.layout import require_run
from seqkit.runs.record import Record

_MOST_DROPOUT = 0.5
_ADVICE = {
    "jumped": "After step {step:,} the loss jumped up: try {slower}.",
    "overfitting": "It got worse after step {step:,}, which is kept as the best: it learns its "
    "training data by heart. Try {less_by_heart}.",
    "copied": "Much of its text is there more than once, so its losses look better than they are: "
    "leave the copies out before it trains longer.",
    "by heart": "It predicts its training data much better than new {content}. Try "
    "{less_by_heart}.",
    "short": "It was too short to tell more: give it more steps or more time.",
    "falling": "The loss was still falling at the end: more steps or more time will help.",
    "unlearned": "It has levelled off without learning: try {slower}, and look at the data with "
    "doctor.",
    "level": "It has levelled off: more steps bring little. Try a larger network, such as "
    "model.hidden_size={wider}.",
}
_LITTLE_TEXT = (
    "It has levelled off: more steps bring little, and a larger network would learn so short a "
    "text by heart. Give more text."
)
_NOTHING = (
    "The validation part is nearly the same {} throughout, as silence is: the loss on it tells "
    "nothing."
)
_ANOTHER_PART = (
    "Give it another validation part, as in data.split=0.8,0.1,0.1, or leave out of the data what "
    "is the same throughout; the samples say more of this run than its losses."
)
_ENDED = {
    "stopped": "It was stopped after step {}",
    "pruned": "The search ended it after step {}: other settings do better",
    "ended": "It ended early, after step {}: the file log may say why",
}


class Verdict(NamedTuple):
    """What is said of a run, a command to try, and what its sample recites, if there is any."""

    finding: str
    advice: str
    command: str = ""
    recital: str = ""


def of_folder(path: Path) -> dict[str, Any]:
    """What is to be said of the run in a folder, as JSON values; see docs/reference/doctor.md.

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
        "recital": verdict.recital or None,
        "finding": verdict.finding,
        "advice": verdict.advice,
        "command": verdict.command or None,
        "problems": record.problems,
    }


def warning(record: Record) -> str:
    """What a training has to be told while it runs, and at its end; empty while all is well."""
    if (
        record.best is None
        or record.settings is None
        or record.state not in ("running", "finished")
    ):
        return ""
    unit, loss, shown = noun(record), record.best[1], trouble(record)
    if _tells_nothing(record):
        return _NOTHING.format(unit)
    better = next((known for known in baselines(record) if loss > known.nats), None)
    if better is None or record.state == "running":
        return _advice(record, record.settings, shown) if shown else ""
    return (
        f"on the validation part the model is worse than {better.name}, which needs no training: "
        f"{_bits(loss)} bits a {unit}, and {_bits(better.nats)}. "
        + _advice(record, record.settings, shown or diagnosis(record))
    )


def judge(record: Record) -> Verdict:
    """The sentences for a run."""
    sample = judge_last_sample(record) if record.state == "finished" else None
    finding = _finding(record, fails=sample is not None and sample.is_like is False)
    settings, total = record.settings, record.number("total_steps")
    if settings is None:
        return Verdict(finding, "Its settings cannot be read.")
    at = f"{record.metrics.step:,}" + (f" of {total:,.0f}" if total else "")
    match record.state:
        case "diverged":
            clip = "" if settings.train.clip_norm else ", and train.clip_norm=1"
            return Verdict(finding, f"Try {_slower(settings)}{clip}.")
        case "running":
            going = f"It is still going, at step {at}: look again later."
            seen = trouble(record)
            return Verdict(finding, _advice(record, settings, seen) if seen else going)
        case "stopped" | "pruned" | "ended":
            command = _command(record, settings, f"run_dir={record.path}", "resume=auto")
            ended = _ENDED[record.state].format(at)
            return Verdict(finding, f"{ended}. This goes on with it:", command)
    if _tells_nothing(record):
        return Verdict(finding, _ANOTHER_PART)
    if sample is not None:
        finding += f" Its last sample {sample.words}."
    shown = diagnosis(record)
    command = _more(record, settings) if shown in ("short", "falling") else ""
    recital = record.text("recital", "words")
    return Verdict(finding, _advice(record, settings, shown), command, recital)


def _tells_nothing(record: Record) -> bool:
    """Whether the validation part is nearly constant, so that any model is certain of it."""
    bits = record.number("baselines", "histogram_bits")
    return record.best is not None and bits is not None and bits < CONSTANT_BITS


def _finding(record: Record, fails: bool) -> str:
    """Whether it learned, and where it stands; what `fails` to sound like its data has not."""
    unit, train = noun(record), record.metrics.train["loss"]
    if record.state == "diverged":
        step = record.number("ended", "step") or record.metrics.step
        return f"The training diverged at step {step:,.0f}: its numbers were not finite any more."
    if not len(train.steps) and record.best is None:
        return "Nothing is measured yet."
    so_far = " so far" if record.state == "running" else ""
    if record.best is None:
        said = "No validation yet" if so_far else "All data were learnt from, and none validated on"
        went = f"from {train.values[0]:.3f} to {train.recent:.3f}"
        return f"{said}. The training loss went {went} nats a {unit}."
    if _tells_nothing(record):
        return _NOTHING.format(unit)
    step, best = record.best
    standing = f"At step {step:,} it needs {_bits(best)} bits a {unit}"
    if guessing := guess(record):
        standing += f", and {guessing.name} {_bits(guessing.nats)}: fewer are better"
    if record.metrics.share != 1:
        standing += (
            f". Its losses are on {percent(record.metrics.share)} of the validation part: evaluate "
            "gives the loss on all of it"
        )
    if guessing and best >= BEATEN * guessing.nats:
        return f"It has not learned{so_far}: it is no better than {guessing.name}. {standing}."
    stronger = [known for known in baselines(record) if known != guessing]
    beaten = " and ".join(known.name for known in stronger if best < known.nats)
    ahead = " and ".join(known.name for known in stronger if best >= known.nats)
    learned = "It predicts better than guessing" if fails else f"It learned{so_far}"
    if is_recited(record):
        learned = "It has its data by heart"
    finding = f"{learned}. {standing}." if guessing else f"{standing}."
    finding += f" It beats {beaten}." if beaten else ""
    return finding + (f" It does not beat {ahead}." if ahead else "")


def _advice(record: Record, settings: Config, shown: Diagnosis) -> str:
    """What the curves of a run show, and what to try."""
    kind = record.text("data", "kind") or settings.data.kind
    symbols = record.number("data", "training_symbols") or math.inf
    if shown == "level" and kind == "text" and (record.number("parameters") or 0) > symbols:
        return _LITTLE_TEXT
    content = {"text": "text", "audio": "sound"}.get(kind, "data")
    where = ": see docs/reference/writers.md" if kind == "text" else ""
    dropout = min(settings.model.dropout + 0.2, _MOST_DROPOUT)
    less = (
        "a smaller network" if dropout == settings.model.dropout else f"model.dropout={dropout:g}"
    )
    return _ADVICE[shown].format(
        content=content,
        step=record.best[0] if record.best else 0,
        slower=_slower(settings),
        less_by_heart=f"{less}, or more {content}{where}",
        wider=2 * settings.model.hidden_size,
    )


def _slower(settings: Config) -> str:
    """A smaller learning rate than that of a run."""
    rate = settings.optimizer.lr
    return f"a smaller optimizer.lr, such as {rate / 3:.2g} in place of {rate:g}"


def _bits(nats: float) -> str:
    return f"{nats / math.log(2):.2f}"


def again(record: Record) -> str:
    """The command that makes a run again; empty where its settings cannot be read."""
    if record.settings is None:
        return ""
    folder = record.path if record.path.name not in ("", "..") else record.path.resolve()
    words = f"--config-dir={folder}", "recipe=config", f"run_dir={folder}_again"
    return _command(record, record.settings, *words)


def _more(record: Record, settings: Config) -> str:
    """The command that doubles a run, or makes it as long as sound takes."""
    train, keys, times = settings.train, [], max(2.0, times_too_short(record))
    if train.max_minutes:
        spent = (record.number("elapsed_seconds") or 0.0) / 60
        keys.append(f"train.max_minutes={math.ceil(times * max(train.max_minutes, spent))}")
    if train.max_epochs and times * (record.passes or math.inf) >= train.max_epochs:
        keys.append(f"train.max_epochs={2 * train.max_epochs}")
    if train.max_steps:
        keys.append(f"train.max_steps={2 * max(train.max_steps, record.metrics.step)}")
    return _command(record, settings, f"run_dir={record.path}", "resume=auto", *keys)


def _command(record: Record, settings: Config, *words: str) -> str:
    """The command line with these words, for as many processes as the run had, and its plug-ins."""
    size, here = (int(record.number(key) or 1) for key in ("processes", "local_processes"))
    rank = Rank(size=size, local_size=here)
    return command_line(*words, plugins=settings.plugins, rank=rank)
