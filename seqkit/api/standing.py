"""Where a training on sound predicts worse than what needs no training, seqkit says so, and why."""

import math
from collections.abc import Callable

from seqkit.api.prepare_training import Training
from seqkit.data.codecs import Quantiser
from seqkit.evaluation import baseline_names
from seqkit.progress_line import duration
from seqkit.runs.events import Event, Finished
from seqkit.runs.observers import Observer
from seqkit.training.events import Trained, Validated

_BY_HEART = 0.8  # of the validation loss: a training loss below knows the training part by heart
_HIGH_RATE = 16_000  # hertz, above which half of them may do


def standing_of(training: Training, notice: Callable[[str], None]) -> list[Observer]:
    """The observer of a training on sound with a validation part; none of others."""
    codec = training.corpus.codec
    if not isinstance(codec, Quantiser) or not len(training.validation):
        return []
    seconds = len(training.corpus.whole) / codec.symbol_rate
    return [
        Standing(
            lambda: training.baselines,
            seconds,
            codec.sample_rate,
            notice,
            baseline_names.noun(codec.kind, codec.symbols_per_sample),
        )
    ]


class Standing:
    """Tells once, when the loss has stopped falling or at the end."""

    def __init__(
        self,
        baselines: Callable[[], dict[str, float]],
        seconds: float,
        sample_rate: int,
        notice: Callable[[str], None],
        noun: str = "sample",
    ) -> None:
        """Args:
        baselines: bits a symbol, as in about.json; asked for at the first validation.
        seconds: of sound that there are.
        sample_rate: in hertz.
        notice: told where the model stands, if it stands badly.
        noun: what a symbol is.
        """
        self._baselines = baselines
        self._best: tuple[float, str] | None = None  # bits of the best baseline, and its name
        self._seconds = seconds
        self._rate = sample_rate
        self._noun = noun
        self._notice = notice
        self._training = 0.0  # the loss of the last report, in nats
        self._last = 0.0  # validation loss, in bits
        self._told = False

    def __call__(self, event: Event) -> None:
        """Follow the losses; baselines that fail are told, and end no training."""
        match event:
            case Trained():
                self._training = event.loss
            case Validated():
                self._last = event.bits_per_symbol
                self._find_best()
                if not event.improved:
                    self._judge(event.best_loss / math.log(2))
            case Finished() if event.best_loss is not None:
                self._judge(event.best_loss / math.log(2))

    def _find_best(self) -> None:
        if self._best is not None or self._told:
            return
        try:
            found = self._baselines()
            names = baseline_names.names(self._noun)
            self._best = min((bits, names[key].whole) for key, bits in found.items())
        except Exception as error:
            self._told = True
            self._notice(f"nothing to compare the model with: {error}")
            return
        if found["histogram_bits"] < baseline_names.CONSTANT_BITS:
            self._told = True
            self._notice(
                "the validation part is nearly constant, as silence is: its loss tells nothing"
            )

    def _judge(self, bits: float) -> None:
        """Tell, if the best validation so far had more bits than a baseline."""
        if self._told or self._best is None or bits <= self._best[0]:
            return
        self._told = True
        best, name = self._best
        self._notice(
            f"on the validation part the model is worse than {name}, which needs no "
            f"training: {bits:.2f} bits a {self._noun}, and {best:.2f}. "
            f"{self._reason()}"
        )

    def _reason(self) -> str:
        learnt = self._training / math.log(2)
        if learnt < _BY_HEART * self._last:
            return (
                f"It knows its {duration(self._seconds)} of sound by heart ({learnt:.2f} bits in "
                "training): give it more sound, more data.copies or a larger model.dropout"
            )
        lower = " or a lower data.sample_rate" if self._rate > _HIGH_RATE else ""
        return f"It has not learnt enough yet: give it more time (train.max_minutes){lower}"
