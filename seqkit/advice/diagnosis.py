"""What the curves and the last sample of a run show: all who give advice on a run go by it."""

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from seqkit.config import DataConfig
from seqkit.data.files import BadFileError
from seqkit.data.sound.reader import read_whole
from seqkit.evaluation.baselines import COPIES
from seqkit.evaluation.baselines import names as names_of
from seqkit.evaluation.baselines import noun as noun_of
from seqkit.evaluation.likeness import Distances
from seqkit.evaluation.recording import ENOUGH, Judgement
from seqkit.foundation.errors import CheckpointError
from seqkit.foundation.threads import shared_cores
from seqkit.runs.checkpoint import read_recording
from seqkit.runs.layout import find_checkpoint
from seqkit.runs.record import Record

Diagnosis = Literal[
    "jumped", "overfitting", "copied", "by heart", "short", "falling", "unlearned", "level"
]
"""`copied`: much text is there twice. `jumped`: the loss leapt up and stayed there. `overfitting`:
the validation loss has risen while the training loss fell. `by heart`: it is above the training
loss, and does not fall. `short`: there is too little to tell more. `falling`: the loss still fell
at the end. Of those that levelled off `unlearned` does no better than guessing, `level` does."""

BEATEN = 0.98  # times the loss of guessing: a network that is below has learned
_RISEN = 1.005  # times the best loss: more than a validation's noise
_JUMPED = 1.15
_FALLING = 0.99  # times the loss before
_GAP = 1.10  # validation over training: more is learnt by heart than understood
_TINY = 1e-9  # nats
_BY_HEART = 1.25  # the same, unless the best validation is older than the last two
_RECITED, _LONG_RUN = 0.5, 50  # of the closing sample, and symbols: names are shorter
_FEW = 8  # reports of a training; fewer tell nothing of where it goes
_PASSES = 2.0  # over the training part: what was met once is not known by heart

_HEARD = 10.0  # seconds of a sample


class Baseline(NamedTuple):
    """What needs no training: nats a symbol."""

    name: str
    brief: str
    nats: float


def noun(record: Record) -> str:
    """What a symbol of this run is."""
    data = record.settings.data if record.settings else DataConfig()
    return noun_of(record.text("data", "kind") or data.kind, data.symbols_per_sample)


def baselines(record: Record) -> list[Baseline]:
    """Those that the run recorded, the weakest first."""
    known = []
    for key, name in names_of(noun(record)).items():
        bits = record.number("baselines", key)
        if bits is not None and 0 <= bits < 64:
            known.append(Baseline(*name, bits * math.log(2)))
    return sorted(known, key=lambda baseline: -baseline.nats)


def guess(record: Record) -> Baseline | None:
    """What a network has to beat to have learned anything: guessing."""
    return next((known for known in baselines(record) if known.brief == "by frequency"), None)


def diagnosis(record: Record) -> Diagnosis:
    """What the curves show; one of them has a value, and the validation tells something."""
    if fault := trouble(record):
        return fault
    if is_recited(record):
        return "by heart"
    if (record.number("data", "repeated") or 0.0) > COPIES:
        return "copied"
    if times_too_short(record) > 1:
        return "short"
    train, validation = record.metrics.train["loss"], record.metrics.validation
    losses = validation.values
    last = float(losses[-1]) if len(losses) else math.inf
    fell = len(losses) > 1 and last < _FALLING * float(losses[-2])
    both = len(train.values) > 0 and len(losses) > 0
    apart = last / max(train.recent, _TINY) if both and _was_read_again(record) else 0.0
    stands = len(losses) > 2 and int(losses.argmin()) < len(losses) - 2
    if not fell and apart > (_GAP if stands else _BY_HEART):
        return "by heart"
    judged = validation if len(losses) > 2 else train
    warm = record.settings.optimizer.warmup_steps if record.settings else 0
    if (judged is train and len(train.values) < _FEW) or record.metrics.step < 2 * warm:
        return "short"
    if fell or judged.recent < _FALLING * judged.around(0.75 * float(judged.steps[-1])):
        return "falling"
    if apart > _GAP:
        return "by heart"
    weakest = guess(record)
    if weakest and len(losses) and float(losses.min()) >= BEATEN * weakest.nats:
        return "unlearned"
    return "level"


def is_recited(record: Record) -> bool:
    """Whether half of the closing sample stands in the training data, in long runs."""
    share, longest = (record.number("recital", name) or 0 for name in ("share", "longest"))
    return share >= _RECITED and longest >= _LONG_RUN


def times_too_short(record: Record) -> float:
    """How many times as much sound a training of two tiers should have read; 1 if it did."""
    data = record.settings.data if record.settings else None
    read = record.metrics.train["symbols"].values
    if data is None or data.conditions == "none" or not len(read):
        return 1.0
    rate = data.sample_rate * data.channels * data.symbols_per_sample
    return max(1.0, ENOUGH * rate / float(read[-1]))


def _was_read_again(record: Record) -> bool:
    """Whether the training part was met more than once, without which nothing is known by heart."""
    return record.passes is None or record.passes >= _PASSES


def trouble(record: Record) -> Literal["jumped", "overfitting"] | None:
    """A fault that shows while a run is still going, if there is one."""
    train, validation = record.metrics.train["loss"], record.metrics.validation
    if len(validation.values) < 2 or len(train.values) < 2:
        return None
    place = int(validation.values.argmin())
    best, last = float(validation.values[place]), float(validation.values[-1])
    if last <= _RISEN * best:
        return None
    before, now = train.around(float(validation.steps[place])), train.recent
    if now > _JUMPED * before and last > _JUMPED * best:
        return "jumped"
    # Learnt by heart is only what does better than the rest.
    return "overfitting" if now < min(before, last) and _was_read_again(record) else None


def judge_last_sample(record: Record) -> Judgement | None:
    """Whether the last sample of sound is like the recording; None if that cannot be said.

    That is what the training said of it, or of an older one what its file says.
    """
    last = record.final or (record.samples[-1][1] if record.samples else None)
    if last is None or last.suffix != ".wav":
        return None
    if said := said_of_last_sample(record):
        return said
    try:
        recording = read_recording(find_checkpoint(record.path))
        wave, rate = read_whole(last, _HEARD)
    except (BadFileError, CheckpointError):
        return None
    if recording is None:
        return None
    with shared_cores():
        return recording.judged(wave, rate)


def record_of(judgement: Judgement) -> dict[str, Any]:
    """What summary.json keeps of a judgement."""
    known = {} if judgement.distances is None else judgement.distances.known
    return {"is_like": judgement.is_like, "heard": judgement.words, **known}


def said_of_last_sample(record: Record) -> Judgement | None:
    """What the training said of its closing sample, as `record_of` kept it."""
    kept, words = record.facts.get("likeness"), record.text("likeness", "heard")
    if not isinstance(kept, Mapping) or not words:
        return None
    values = [record.number("likeness", name) for name in Distances._fields]
    found = Distances(*(math.nan if value is None else value for value in values))
    is_like = kept.get("is_like")
    return Judgement(is_like if isinstance(is_like, bool) else None, words, found)
