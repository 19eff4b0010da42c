"""Did a run learn, where does it stand, and what to try next: one rule for each piece of advice.

The page of a run, `doctor run_dir=` and the training itself say what is decided here.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from seqkit.evaluation.baselines import NAMES, noun
from seqkit.foundation.processes import Rank
from seqkit.foundation.wording import command_line
from seqkit.runs.record import Record

_BEATEN = 0.98  # times the loss of guessing: a network that is below has learned
_RISEN = 1.005  # times the best loss: more than a validation's noise
_JUMPED = 1.15
_ABSURD = 1.2  # times the loss of a network that has not begun to learn
_FALLING = 0.99  # times the loss before
_GAP = 1.10  # validation over training: more is learnt by heart than understood
_FEW = 8  # reports of a training; fewer tell nothing of where it goes
_SHORT, _EARLY = 200, 0.75  # steps, in which no network has learnt all it can; of all steps
_PASSES, _BY_HEART = 2.0, 20.0  # over the training part: what was met once is not known by heart
_MOST_DROPOUT, _USUAL_RATE = 0.5, 0.01

_ADVICE = {
    "jumped": "After step {step:,} the loss jumped up: try {slower}.",
    "overfits": "It got worse after step {step:,}, which is kept as the best: it learns its "
    "training data by heart. Try {less_by_heart}.",
    "explodes": "Its loss is above that of any guess: try {slower}.",
    "is short": "It was too short to tell more: give it more steps or more time.",
    "is unjudged": "Such a loss tells how well the data are known by heart: judge by the samples, "
    "or give more {content}.",
    "falls": "The loss was still falling at the end: more steps or more time will help.",
    "lies apart": "It predicts its training data much better than new {content}. "
    "Try {less_by_heart}.",
    "learned nothing": "It has levelled off without learning: try {slower}, and look at the data "
    "with doctor.",
    "has little text": "It has levelled off: more steps bring little, and a larger network would "
    "learn so short a text by heart. Give more text.",
    "levelled off": "It has levelled off: more steps bring little. A larger network may bring more "
    "in as many steps, such as model.hidden_size={wider}.",
}
"""What is advised of the first that `_seen` tells; the first two show while a run is going, too."""
_ENDED = {
    "stopped": "It was stopped after step {}",
    "ended": "It ended early, after step {}: the file log may say why",
}


class Verdict(NamedTuple):
    """What is said of a run, and a command to try, if there is any."""

    finding: str
    advice: str
    command: str = ""


def baselines(record: Record) -> dict[str, float]:
    """Those that the run recorded, by name: nats a symbol, the weakest first."""
    bits = {name: record.number("baselines", key) for key, name in NAMES.items()}
    known = {name: value * math.log(2) for name, value in bits.items() if value is not None}
    return dict(sorted(known.items(), key=lambda one: -one[1]))


def _guess(record: Record) -> float:
    """The loss that a network has to beat to have learned anything: that of guessing."""
    return baselines(record).get(NAMES["histogram_bits"], math.inf)


def _seen(record: Record) -> Iterator[str]:
    """What the curves and the last sample show, as the words of `_ADVICE`, in their order."""
    train, validation = record.train, record.validation
    losses = validation.values
    last = float(losses[-1]) if len(losses) else math.inf
    again = record.passes is None or record.passes >= _PASSES
    if len(losses) > 1 < len(train.values) and last > _RISEN * losses.min():
        before = train.around(float(validation.steps[losses.argmin()]))
        if train.recent > _JUMPED * before and last > _JUMPED * losses.min():
            yield "jumped"
        elif again and train.recent < min(before, last):
            yield "overfits"
    if record.state == "running":
        return
    size = record.number("data", "vocabulary") or math.inf
    logits = max(size, record.keys["model.vocabulary_size"])
    ended = last if len(losses) else train.recent if len(train.values) else 0.0
    if ended > _ABSURD * math.log(logits):
        yield "explodes"
    apart = len(losses) > 2 and validation.steps[0] <= _EARLY * validation.steps[-1]
    judged = validation if apart else train
    few = record.step < _SHORT or (judged is train and len(train.values) < _FEW)
    warm = record.keys.get("optimizer.warmup_steps", 0)
    if few or record.step < 2 * warm:
        yield "is short"
    if not len(losses) and (record.passes or 0) > _BY_HEART:
        yield "is unjudged"
    fell = len(losses) > 1 and last < _FALLING * float(losses[-2])
    before = judged.around(_EARLY * float(judged.steps[-1])) if len(judged.steps) else 0.0
    if fell or (before and judged.recent < _FALLING * before):
        yield "falls"
    if again and len(losses) and len(train.values) and last > _GAP * train.recent:
        yield "lies apart"
    if len(losses) and losses.min() >= _BEATEN * _guess(record):
        yield "learned nothing"
    symbols = record.number("data", "training_symbols") or math.inf
    is_text = record.text("data", "kind") == "text"
    if is_text and (record.number("parameters") or 0) > symbols:
        yield "has little text"
    yield "levelled off"


def warning(record: Record) -> str:
    """What a training has to be told at its end; empty while all is well."""
    loss = record.loss
    behind = loss is not None and any(loss > nats for nats in baselines(record).values())
    if record.state != "finished" or not behind:
        return ""
    verdict = judge(record)
    return f"{verdict.finding} {verdict.advice}"


def judge(record: Record) -> Verdict:
    """The sentences for a run."""
    heard = record.text("likeness", "heard") if record.state == "finished" else ""
    finding = _finding(record, fails=record.fact("likeness", "is_like") is False)
    total = record.number("total_steps")
    if not record.keys:
        return Verdict(finding, "Its settings cannot be read.")
    at = f"{record.step:,}" + (f" of {total:,.0f}" if total else "")
    if record.state == "diverged":
        clip = "" if record.keys["train.clip_norm"] else ", and train.clip_norm=1"
        return Verdict(finding, f"Try {_slower(record)}{clip}.")
    if ended := _ENDED.get(record.state):
        said = f"{ended.format(at)}. This goes on with it:"
        return Verdict(finding, said, _go_on(record))
    seen = next(_seen(record), "")
    if not seen:
        return Verdict(finding, f"It is still going, at step {at}: look again later.")
    finding += f" Its last sample {heard}." if heard else ""
    longer = seen in ("is short", "falls")
    command = _go_on(record, *_longer(record)) if longer else ""
    return Verdict(finding, _advice(record, seen), command)


def _finding(record: Record, fails: bool) -> str:
    """Whether it learned, and where it stands; what `fails` to sound like its data has not."""
    kind, train = record.text("data", "kind") or record.keys.get("data.kind", "auto"), record.train
    unit = noun(kind)
    if record.state == "diverged":
        step = record.number("ended", "step") or record.step
        return f"The training diverged at step {step:,.0f}: its numbers were not finite any more."
    if not len(train.steps) and record.best is None:
        return "Nothing is measured yet."
    if record.best is None:
        went = f"from {train.values[0]:.3f} to {train.recent:.3f}"
        return f"Without a validation so far, the training loss went {went} nats a {unit}."
    (step, best), known = record.best, baselines(record)
    learned = "It predicts better than guessing" if fails else "It learned"
    if best >= _BEATEN * _guess(record):
        learned = "It has not learned: it is about as good as guessing"
    standing = f"At step {step:,} it needs {best / math.log(2):.2f} bits a {unit}"
    beside = ", ".join(f"{name} {nats / math.log(2):.2f}" for name, nats in known.items())
    return f"{learned}. {standing}" + (f"; {beside}: fewer are better." if beside else ".")


def _advice(record: Record, seen: str) -> str:
    """The sentence for what is seen of a run."""
    keys, kind = record.keys, record.text("data", "kind") or record.keys["data.kind"]
    content = {"text": "text", "audio": "sound"}.get(kind, "data")
    where = ": see docs/reference/writers.md" if kind == "text" else ""
    dropout = min(keys["model.dropout"] + 0.2, _MOST_DROPOUT)
    same = dropout == keys["model.dropout"]
    less = "a smaller network" if same else f"model.dropout={dropout:g}"
    return _ADVICE[seen].format(
        content=content,
        step=record.best[0] if record.best else 0,
        slower=_slower(record),
        less_by_heart=f"{less}, or more {content}{where}",
        wider=2 * keys["model.hidden_size"],
    )


def _slower(record: Record) -> str:
    """A smaller learning rate than that of a run."""
    rate = record.keys["optimizer.lr"]
    smaller = min(rate / 3, _USUAL_RATE)
    return f"a smaller optimizer.lr, such as {smaller:.2g} in place of {rate:g}"


def _go_on(record: Record, *keys: str) -> str:
    """The command that goes on with a run, in as many processes, and with its plug-ins."""
    size, here = (int(record.number(key) or 1) for key in ("processes", "local_processes"))
    words, rank = (f"run_dir={record.path}", "resume=auto"), Rank(size=size, local_size=here)
    return command_line(*words, *keys, plugins=record.keys["plugins"], rank=rank)


def _longer(record: Record) -> Iterator[str]:
    """The keys that double a run."""
    minutes, epochs, steps = (
        record.keys[f"train.max_{name}"] for name in ("minutes", "epochs", "steps")
    )
    if minutes:
        spent = (record.number("elapsed_seconds") or 0.0) / 60
        yield f"train.max_minutes={math.ceil(2 * max(minutes, spent))}"
    if epochs and 2 * record.step >= epochs * (record.number("epoch_steps") or 0):
        yield f"train.max_epochs={2 * epochs}"
    if steps:
        yield f"train.max_steps={2 * max(steps, record.step)}"
