"""What follows a training: each observer makes one kind of thing of its events.

A new one (a report, a logger) is a class with `__call__(event)`, and one line in `run_training`.
"""

import dataclasses
import json
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from seqkit.api.run_files import draw, sample
from seqkit.foundation.session import Notice
from seqkit.generation.medium import save_sample
from seqkit.generation.request import request_of
from seqkit.runs.events import Event, Sampled, describe
from seqkit.runs.folder import RunFolder
from seqkit.stages.training import Training
from seqkit.symbols import Integers
from seqkit.training.events import SampleDue, Trained, Validated

Observer = Callable[[Event], object]


@dataclass(frozen=True)
class Records:
    """metrics.jsonl: a line for each report and validation; `log`: what a person is told."""

    folder: RunFolder

    def __call__(self, event: Event) -> None:
        """Keep what docs/reference/files.md says of the event, and its line with the time."""
        match event:
            case Trained():
                self._record("train", event, "total_steps")
            case Validated():
                self._record("validate", event, "improved", "best_loss")
        if line := describe(event):
            self.folder.append(self.folder.log, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}")

    def _record(self, name: str, event: Trained | Validated, *left_out: str) -> None:
        values = {key: value for key, value in vars(event).items() if key not in left_out}
        self.folder.append(self.folder.metrics, json.dumps({"event": name, **values}))


@dataclass(frozen=True)
class Samples:
    """samples/: what the network would write, or how it would sound, with its picture, by now.

    It tells of each that was written, so it comes after those that follow the training itself.
    """

    training: Training
    tell: Observer
    notice: Notice

    def __call__(self, event: Event) -> None:
        """Write a sample; one that fails is told, and ends no training."""
        if not isinstance(event, SampleDue):
            return
        medium, folder = self.training.closing.medium, self.training.folder
        try:
            symbols = self._symbols()
            folder.check_own()
            file = save_sample(medium, symbols, folder.samples / f"step_{event.step:07}")
            preview, judgement = medium.preview(symbols, file), self._judged(symbols)
        except Exception as error:
            self.notice(f"no sample at step {event.step}: {error}")
        else:
            if file.suffix == ".wav":
                draw(file, self.notice)
            self.tell(Sampled(event.step, file, preview, judgement))

    def _symbols(self) -> Integers:
        """The prompt and a little that follows it, symbols (N,)."""
        closing, config = self.training.closing, self.training.config
        if closing.medium.printed:  # so short a text is there before another engine is set up
            request = request_of(config, closing.medium.glimpse)
            request = dataclasses.replace(request, engine="torch", precision="auto")
        else:
            request = request_of(config, min(closing.medium.glimpse, closing.length))
        model = self.training.trainer.evaluation_model()
        blocks = sample(self.training, model, request, self.notice)
        pieces = [block[:, 0] for block in blocks]
        return np.concatenate([closing.prompt.astype(np.int64), *pieces])

    def _judged(self, symbols: Integers) -> str:
        """Whether symbols (N,) of sound, but for the prompt, are like the recording."""
        recording, codec = self.training.recording, self.training.corpus.codec
        if recording is None or codec.kind != "audio":
            return ""
        made = codec.decode(symbols[self.training.closing.prompt.size :])
        return f"it {recording.judged(made, codec.sample_rate).words}"
