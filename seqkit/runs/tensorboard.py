"""A training in TensorBoard: scalars, samples, spectrograms, hyperparameters and their result.

The event files are like those of TensorBoard's own writer, but written without its thread, so that
a failure is known at once.
"""

import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from seqkit.config import Config, options, values_of
from seqkit.data.sound.reader import read_whole
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import default_of
from seqkit.runs.events import Event, Finished, Sampled, Started
from seqkit.runs.folder import RunFolder
from seqkit.training.events import Trained, Validated

_METRIC = "best_validation_loss"
_LONGEST = 20_000  # bytes of a sample of text


def require() -> None:
    """Raise ConfigError where TensorBoard is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        raise ConfigError(
            "log.tensorboard=true needs TensorBoard: pip install 'seqkit[tensorboard]'"
        )


class TensorBoard:
    """tensorboard/: one event file for each start of the training."""

    def __init__(self, folder: RunFolder, config: Config, notice: Callable[[str], None]) -> None:
        """`notice` is told of a failure, which does not end the training."""
        self._folder = folder
        self._config = config
        self._notice = notice
        self._file: Path | None = None

    def __call__(self, event: Event) -> None:
        """Record the event, unless an earlier one could not be recorded."""
        try:
            if isinstance(event, Started):
                self._begin(event.step)
            if self._file is not None:
                for summary in self._summaries(event):
                    self._write(summary=summary, step=event.step)
        except Exception as error:
            self._notice(f"nothing more for TensorBoard: {error}")
            self._file = None

    def _begin(self, step: int) -> None:
        """Begin a file. TensorBoard drops what earlier files say of steps after `step`."""
        from tensorboard.compat.proto.event_pb2 import SessionLog

        folder = self._folder.tensorboard
        disk.make_folder(folder)
        number = 1 + len([*folder.glob("events.out.tfevents.*")])  # they are read in this order
        self._file = folder / f"events.out.tfevents.{number:06}"
        self._write(file_version="brain.Event:2", step=step + 1)
        self._write(session_log=SessionLog(status=SessionLog.START), step=step + 1)

    def _write(self, **values: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event as Record
        from tensorboard.summary.writer.record_writer import RecordWriter

        assert self._file is not None
        content = Record(wall_time=time.time(), **values).SerializeToString()
        with disk.reopen(self._file) as file:
            RecordWriter(file).write(content)

    def _summaries(self, event: Event) -> Iterator[Any]:
        """What TensorBoard shows of an event."""
        from torch.utils.tensorboard import summary

        match event:
            case Started():
                yield from summary.hparams(dict(_keys(self._config)), {_METRIC: 0.0})[:2]
            case Trained():
                for name in ("loss", "learning_rate", "gradient_norm", "symbols_per_second"):
                    if (value := getattr(event, name)) is not None:
                        yield summary.scalar(f"train/{name}", value)
            case Validated():
                for name in ("loss", "bits_per_symbol"):
                    yield summary.scalar(f"validation/{name}", getattr(event, name))
            case Sampled():
                yield from _sample(event.file)
            case Finished():
                if event.best_loss is not None:
                    yield summary.scalar(_METRIC, event.best_loss)
                yield summary.hparams(dict(_keys(self._config)), {_METRIC: 0.0})[2]


def _keys(config: Config) -> Iterator[tuple[str, float | int | str | bool]]:
    """The keys that shape a training; those of its data only where they are not the defaults."""
    values = values_of(config)
    for name, item in options():
        group, value = name.rpartition(".")[0], values[name]
        shapes = group in ("model", "optimizer", "train") or name in ("recipe", "seed")
        if shapes or (group == "data" and value != default_of(item)):
            numeric = isinstance(value, bool | int | float)
            yield name, value if numeric else "" if value is None else str(value)


def _sample(file: Path) -> Iterator[Any]:
    """A sample as TensorBoard shows it: text, or sound with its picture if there is one."""
    from matplotlib.image import imread
    from torch.utils.tensorboard import summary

    if file.suffix != ".wav":
        with file.open("rb") as stream:
            text = stream.read(_LONGEST).decode("utf-8", "replace")
        # It is read as Markdown, in which indented lines stand as they are.
        yield summary.text("sample", "".join(f"    {line}\n" for line in text.split("\n")))
        return
    yield summary.audio("sample", *read_whole(file))
    picture = file.with_suffix(".png")
    if picture.is_file():
        yield summary.image("spectrogram", imread(picture), dataformats="HWC")
