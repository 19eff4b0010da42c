"""Did it learn, where does it stand, and what to try next: in sentences for a newcomer."""

import math
from dataclasses import dataclass

from seqkit.evaluation import baseline_names
from seqkit.progress_line import percent
from seqkit.report import next_command
from seqkit.report.heard import fault
from seqkit.runs.metrics import Curve
from seqkit.runs.record import Record

_RISEN = 1.005  # times the best loss: more than a validation's noise
_JUMPED = 1.15
_FALLING = 0.99  # times the loss at three quarters of the run
_BEATEN = 0.98  # times the loss of guessing
_GAP = 1.10  # validation over training: more is learnt by heart than understood
_CERTAIN = 0.05  # nats below which next to nothing is left to choose among
_MOST_DROPOUT = 0.5
_FEW = 8  # reports of a training; fewer tell nothing of where it goes
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


@dataclass(frozen=True)
class Baseline:
    """What needs no training: nats a symbol."""

    name: str
    brief: str
    nats: float


def noun(record: Record) -> str:
    """What a symbol of this run is."""
    kind = record.text("data", "kind")
    if not kind and record.settings:
        kind = record.settings.data.kind
    symbols_per_sample = record.settings.data.symbols_per_sample if record.settings else 1
    return baseline_names.noun(kind, symbols_per_sample)


def baselines(record: Record) -> list[Baseline]:
    """Those that the run recorded, the weakest first."""
    found = []
    for key, name in baseline_names.names(noun(record)).items():
        bits = record.number("baselines", key)
        if bits is not None and 0 <= bits < 64:
            found.append(Baseline(*name, bits * math.log(2)))
    return sorted(found, key=lambda baseline: -baseline.nats)


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
        trouble = _trouble(record)
        return Verdict(finding, trouble or _waiting(record))
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
    guess = _guess(record)
    so_far = " so far" if record.state == "running" else ""
    if guess is None:
        learned = best < _BEATEN * float(losses[0] if len(losses) else validation.values[0])
        return f"{'It learned' if learned else 'It has hardly learned'}{so_far}. {standing}."
    if best >= _BEATEN * guess.nats:
        return (
            f"It has not learned{so_far}: it is no better than {guess.name}. {standing}; "
            f"for {guess.name} they are {choices(guess.nats)}."
        )
    beside = f"for {guess.name} they are {choices(guess.nats)}"
    if best < _CERTAIN:
        beside = f"{guess.name} leaves {choices(guess.nats)} equally likely ones"
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
    if trouble := _trouble(record):
        return Verdict(finding, trouble)
    metrics, settings = record.metrics, record.settings
    train, validation = metrics.train["loss"], metrics.validation
    judged = validation if len(validation.values) > 2 else train
    if judged is train and len(train.values) < _FEW:
        return _longer(record, finding, "It was too short to tell more: train for more steps")
    lately = validation.values[-2:]
    fell = len(lately) == 2 and float(lately[1]) < _FALLING * float(lately[0])
    if fell or _still_falling(judged):
        advice = "The loss was still falling at the end, so more steps will help"
        return _longer(record, finding, advice)
    if len(train.values) and len(validation.values):
        gap = float(validation.values[-1]) > _GAP * train.recent
        if gap and settings:
            return Verdict(
                finding,
                "It has levelled off, and it does much better on its training data than on "
                f"what it has not seen. Try {_dropout(settings.model.dropout)}, or more data.",
            )
    if settings and not _learned(record):
        return Verdict(
            finding,
            "It has levelled off without learning: try a smaller optimizer.lr, such as "
            f"{settings.optimizer.lr / 3:.2g}, and look at the data with doctor.",
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


def _trouble(record: Record) -> str:
    """A fault that the curves show, and what to do about it; empty if they show none."""
    train, validation = record.metrics.train["loss"], record.metrics.validation
    if len(validation.values) < 2 or len(train.values) < 2:
        return ""
    place = int(validation.values.argmin())
    best, last = float(validation.values[place]), float(validation.values[-1])
    if place == len(validation.values) - 1 or last <= _RISEN * best:
        return ""
    before, now = train.around(float(validation.steps[place])), train.recent
    step, settings = int(validation.steps[place]), record.settings
    if now > _JUMPED * before and last > _JUMPED * best:
        lower = f", such as {settings.optimizer.lr / 3:.2g}" if settings else ""
        return f"After step {step:,} the loss jumped up: try a smaller optimizer.lr{lower}."
    if now >= before or last <= now:  # learnt by heart is only what does better than the rest
        return ""
    dropout = _dropout(settings.model.dropout if settings else 0)
    return (
        f"Since step {step:,} the validation loss has risen while the training loss fell: the "
        f"network learns its training data by heart. The checkpoint of step {step:,} was kept as "
        f"the best. Try {dropout}, a smaller network, train.patience=3, or more data."
    )


def _learned(record: Record) -> bool:
    """Whether it does better than guessing, as far as that was measured."""
    losses = record.metrics.validation.values
    guess = _guess(record)
    return guess is None or not len(losses) or float(losses.min()) < _BEATEN * guess.nats


def _guess(record: Record) -> Baseline | None:
    """What a network has to beat to have learned anything: guessing."""
    known = {baseline.brief: baseline for baseline in baselines(record)}
    return known.get("by frequency", known.get("blind guess"))


def _still_falling(curve: Curve) -> bool:
    """Whether the last quarter of the steps brought more than a hundredth."""
    last = curve.steps[-1]
    earlier = curve.around(0.75 * float(last))
    return curve.recent < _FALLING * earlier


def _dropout(now: float) -> str:
    if now >= _MOST_DROPOUT:
        return "a smaller network"
    return f"model.dropout={min(now + 0.2, _MOST_DROPOUT):g}"
