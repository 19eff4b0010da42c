"""What the curves of a run show, in one word: all who give advice on a run go by it."""

from typing import Literal

from seqkit.report.baselines import guess
from seqkit.runs.metrics import Curve
from seqkit.runs.record import Record

Diagnosis = Literal[
    "jumped", "overfitting", "by heart", "short", "falling", "apart", "unlearned", "level"
]
"""`jumped`: the loss leapt up and stayed there. `overfitting`: the validation loss has risen while
the training loss fell. `by heart`: it is far above the training loss, and does not fall. `short`:
there is too little to tell more. `falling`: the loss still fell at the end. Of those that levelled
off, `apart` does better on its training part, `unlearned` no better than guessing, and `level`
neither."""

BEATEN = 0.98  # times the loss of guessing: a network that is below has learned
_RISEN = 1.005  # times the best loss: more than a validation's noise
_JUMPED = 1.15
_FALLING = 0.99  # times the loss at three quarters of the run
_GAP = 1.10  # validation over training: more is learnt by heart than understood
_BY_HEART = 0.8  # of the validation loss: a training loss below is that of what is known by heart
_FEW = 8  # reports of a training; fewer tell nothing of where it goes
_PASSES = 2.0  # over the training part: what was met once is not known by heart


def diagnosis(record: Record) -> Diagnosis:
    """What the curves show; one of them has a value, and the validation tells something."""
    if found := trouble(record):
        return found
    train, validation = record.metrics.train["loss"], record.metrics.validation
    both = len(train.values) > 0 and len(validation.values) > 0
    fell = len(validation.values) > 1 and _fell(validation)
    far = both and train.recent < _BY_HEART * float(validation.values[-1])
    if far and not fell and record.passes is not None and _often_enough(record):
        return "by heart"
    judged = validation if len(validation.values) > 2 else train
    if (judged is train and len(train.values) < _FEW) or _warms_up(record):
        return "short"
    if fell or judged.recent < _FALLING * judged.around(0.75 * float(judged.steps[-1])):
        return "falling"
    if both and _often_enough(record) and float(validation.values[-1]) > _GAP * train.recent:
        return "apart"
    return "level" if _learned(record) else "unlearned"


def trouble(record: Record) -> Literal["jumped", "overfitting"] | None:
    """A fault that shows while a run is still going, if there is one."""
    train, validation = record.metrics.train["loss"], record.metrics.validation
    if len(validation.values) < 2 or len(train.values) < 2:
        return None
    place = int(validation.values.argmin())
    best, last = float(validation.values[place]), float(validation.values[-1])
    if place == len(validation.values) - 1 or last <= _RISEN * best:
        return None
    before, now = train.around(float(validation.steps[place])), train.recent
    if now > _JUMPED * before and last > _JUMPED * best:
        return "jumped"
    # Learnt by heart is only what does better than the rest, and was met more than once.
    return "overfitting" if now < before and now < last and _often_enough(record) else None


def _warms_up(record: Record) -> bool:
    """Whether it made fewer steps at the full rate than it took to get there."""
    warm = record.settings.optimizer.warmup_steps if record.settings else 0
    return record.metrics.step < 2 * warm


def _often_enough(record: Record) -> bool:
    """Whether the training part was read often enough to be known by heart, as far as is known."""
    return record.passes is None or record.passes >= _PASSES


def _fell(validation: Curve) -> bool:
    """Whether the last validation was better than the one before."""
    return float(validation.values[-1]) < _FALLING * float(validation.values[-2])


def _learned(record: Record) -> bool:
    """Whether it does better than guessing, as far as that was measured."""
    losses = record.metrics.validation.values
    weakest = guess(record)
    return weakest is None or not len(losses) or float(losses.min()) < BEATEN * weakest.nats
