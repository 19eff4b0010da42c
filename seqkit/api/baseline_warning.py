"""Where a training predicts worse than what needs no training, seqkit says so, and why."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from seqkit.api.prepare_training import Training
from seqkit.data.codecs import Quantiser
from seqkit.evaluation import baseline_names
from seqkit.foundation.wording import duration
from seqkit.report.diagnosis import diagnosis
from seqkit.runs.events import Event, Finished
from seqkit.runs.observers import Observer
from seqkit.runs.record import Record, State, read
from seqkit.training.events import Validated

_HIGH_RATE = 16_000  # hertz, above which half of them may do


@dataclass(frozen=True)
class Words:
    """What some data are called.

    noun: a symbol.
    amount: how much there is.
    constant: what they are like where they are the same throughout.
    more_data: what helps a model that knows them by heart.
    more_training: what helps one that has learnt too little.
    """

    noun: str
    amount: str
    constant: str
    more_data: str
    more_training: str

    @classmethod
    def of_sound(cls, seconds: float, sample_rate: int, noun: str = "sample") -> "Words":
        """Those of so many seconds of sound."""
        lower = " or a lower data.sample_rate" if sample_rate > _HIGH_RATE else ""
        return cls(
            noun,
            f"{duration(seconds)} of sound",
            "nearly constant, as silence is",
            "more sound, more data.copies",
            f"more time (train.max_minutes){lower}",
        )

    @classmethod
    def of_text(cls, symbols: int, noun: str, by_the_clock: bool, by_steps: bool = True) -> "Words":
        """Those of so many symbols of text or bytes, in a training that ends by time or steps."""
        more = "more time (train.max_minutes)" if by_the_clock else "more steps (train.max_steps)"
        if by_the_clock and by_steps:
            more = "more time and steps (train.max_minutes, train.max_steps)"
        return cls(noun, f"{symbols:,} {noun}s", "nearly constant", "more data", more)


def standing_of(training: Training, notice: Callable[[str], None]) -> list[Observer]:
    """The observer of a training with a validation part; none of others."""
    codec, symbols = training.corpus.codec, len(training.corpus.whole)
    if not len(training.validation):
        return []
    if isinstance(codec, Quantiser):
        noun = baseline_names.noun(codec.kind, codec.symbols_per_sample)
        words = Words.of_sound(symbols / codec.symbol_rate, codec.sample_rate, noun)
    else:
        ends = training.config.train.max_minutes > 0, training.config.train.max_steps is not None
        words = Words.of_text(symbols, baseline_names.noun(codec.kind), *ends)
    return [Standing(lambda: training.baselines, words, notice, training.folder.path)]


class Standing:
    """Tells once, when the network begins to overfit or at the end."""

    def __init__(
        self,
        baselines: Callable[[], dict[str, float]],
        words: Words,
        notice: Callable[[str], None],
        run_dir: Path,
    ) -> None:
        """Args:
        baselines: bits a symbol, as in about.json; asked for at the first validation.
        words: what the data are called.
        notice: told where the model stands, if it stands badly.
        run_dir: the run's folder, whose curves give the reason, as they do on the run's page.
        """
        self._baselines = baselines
        self._best: tuple[float, str] | None = None  # bits of the best baseline, and its name
        self._blind = math.inf  # bits of blind guessing
        self._words = words
        self._notice = notice
        self._run_dir = run_dir
        self._judged = 0  # the step after which the run was last judged
        self._told = False

    def __call__(self, event: Event) -> None:
        """Follow the losses; baselines that fail are told, and end no training."""
        match event:
            case Validated():
                self._find_best()
                if not event.improved and event.step >= 2 * self._judged:
                    self._judged = event.step  # all curves are read for it
                    self._judge(event.best_loss / math.log(2), "running")
            case Finished() if event.best_loss is not None:
                self._judge(event.best_loss / math.log(2), "finished")

    def _find_best(self) -> None:
        if self._best is not None or self._told:
            return
        try:
            found = self._baselines()
            names = baseline_names.names(self._words.noun)
            self._best = min((bits, names[key].whole) for key, bits in found.items())
            self._blind = found["uniform_bits"]
        except Exception as error:
            self._told = True
            self._notice(f"nothing to compare the model with: {error}")
            return
        if found["histogram_bits"] < baseline_names.CONSTANT_BITS:
            self._told = True
            self._notice(f"the validation part is {self._words.constant}: its loss tells nothing")

    def _judge(self, bits: float, state: State) -> None:
        """Tell, if the best validation so far had more bits than a baseline."""
        if self._told or self._best is None or bits <= self._best[0]:
            return
        reason = self._reason(read(self._run_dir, state), worse_than_blind=bits > self._blind)
        if not reason:
            return
        self._told = True
        best, name = self._best
        if bits > self._blind:
            best, name = self._blind, "blind guessing"
        self._notice(
            f"on the validation part the model is worse than {name}, which needs no "
            f"training: {bits:.2f} bits a {self._words.noun}, and {best:.2f}. {reason}"
        )

    def _reason(self, record: Record, *, worse_than_blind: bool) -> str:
        """What the run's curves show, and what helps; empty while going on may help."""
        shown, words = diagnosis(record), self._words
        if record.state == "running" and shown not in ("jumped", "overfitting", "by heart"):
            return ""
        losses = record.metrics.train["loss"]
        learnt = f"{losses.recent / math.log(2):.2f} bits" if len(losses.values) else ""
        match shown:
            case "overfitting" | "by heart":
                return (
                    f"It knows its {words.amount} by heart ({learnt} in training): give it "
                    f"{words.more_data} or a larger model.dropout"
                )
            case "apart":
                return (
                    f"It has levelled off, and does much better in training ({learnt}): give it "
                    f"{words.more_data} or a larger model.dropout"
                )
            case "short" | "falling":
                lower = ", or a smaller optimizer.lr" if worse_than_blind else ""
                return f"It has not learnt enough yet: give it {words.more_training}{lower}"
            case "jumped":
                return "The loss jumped up: try a smaller optimizer.lr"
            case "unlearned":
                return "It has levelled off without learning: try a smaller optimizer.lr"
        return "It has levelled off: try a larger network, with a larger model.hidden_size"
