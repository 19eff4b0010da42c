"""A training in TensorBoard: scalars, samples, pictures, and hyperparameters with what they gave.

The files are event files as TensorBoard's own writer makes them. They are written here, without
its thread, so that what fails is known at once and nothing else waits for them.
"""

import contextlib
import dataclasses
import importlib.util
import itertools
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from seqkit.config import Config, options
from seqkit.data.sound.reader import read_whole
from seqkit.data.sound.writer import whole_wav
from seqkit.foundation import disk
from seqkit.foundation.disk import OutputFile
from seqkit.foundation.errors import ConfigError, OutputError
from seqkit.foundation.settings import default_of
from seqkit.runs.events import Diverged, Event, Finished, Sampled, Started, Stopped
from seqkit.runs.folder import RunFolder
from seqkit.training.events import Trained, Validated

_GROUPS = ("data", "model", "optimizer", "train")
_ROOT = ("recipe", "seed")  # of the root
_METRIC = "best_validation_loss"
_LONGEST = 20_000  # bytes of a sample of text


def require() -> None:
    """Raise ConfigError where TensorBoard is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        raise ConfigError(
            "log.tensorboard=true needs TensorBoard: pip install 'seqkit[tensorboard]'"
        )


class TensorBoard:
    """tensorboard/: an event file for each time that the training was started."""

    def __init__(self, folder: RunFolder, config: Config, notice: Callable[[str], None]) -> None:
        """`notice` hears of what fails; it ends no training."""
        self._folder = folder
        self._config = config
        self._notice = notice
        self._file: _EventFile | None = None
        self._failed = False

    def __call__(self, event: Event) -> None:
        """Record the event."""
        if self._failed:
            return
        try:
            self._record(event)
        except Exception as error:
            self._failed = True
            self._notice(f"nothing more for TensorBoard: {error}")
            with contextlib.suppress(OutputError):
                self._close()

    def _record(self, event: Event) -> None:
        from torch.utils.tensorboard import summary

        if isinstance(event, Started):
            self._file = _EventFile(self._folder, event.step)
        if (file := self._file) is None:
            return
        match event:
            case Started():
                for part in self._hyperparameters()[:2]:
                    file.add(part, event.step)
            case Trained():
                for name in ("loss", "learning_rate", "gradient_norm", "symbols_per_second"):
                    if (value := getattr(event, name)) is not None:
                        file.add(summary.scalar(f"train/{name}", value), event.step)
            case Validated():
                for name in ("loss", "bits_per_symbol"):
                    scalar = summary.scalar(f"validation/{name}", getattr(event, name))
                    file.add(scalar, event.step)
            case Sampled():
                for part in _sample(event.file):
                    file.add(part, event.step)
            case Finished():
                if event.best_loss is not None:
                    file.add(summary.scalar(_METRIC, event.best_loss), event.step)
                file.add(self._hyperparameters()[2], event.step)
                self._close()
            case Stopped() | Diverged():
                self._close()

    def _hyperparameters(self) -> tuple[Any, Any, Any]:
        """What says which metric to compare by, what the keys are, and that the run succeeded."""
        from torch.utils.tensorboard import summary

        found: tuple[Any, Any, Any] = summary.hparams(dict(_keys(self._config)), {_METRIC: 0.0})
        return found

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


class _EventFile:
    """One file of events, each of which is on the disk when it was added."""

    def __init__(self, folder: RunFolder, step: int) -> None:
        """A new file, to which TensorBoard goes over from those before it after `step`.

        What they say of later steps, which a resumed training makes again, it leaves out.
        """
        from tensorboard.compat.proto.event_pb2 import Event as Record
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        place = folder.files.tensorboard
        disk.make_folder(place)
        names = (place / f"events.out.tfevents.{number:06}" for number in itertools.count(1))
        path = next(name for name in names if not name.exists())  # they are read in this order
        self._stream: OutputFile = disk.create(path)
        self._writer = RecordWriter(self._stream)
        self._record = Record
        first = {"step": step + 1, "wall_time": time.time()}
        self._write(Record(file_version="brain.Event:2", **first))
        self._write(Record(session_log=SessionLog(status=SessionLog.START), **first))

    def add(self, summary: Any, step: int) -> None:
        """Append a summary of a step. Raises OutputError."""
        self._write(self._record(summary=summary, step=step, wall_time=time.time()))

    def close(self) -> None:
        """End the file. Raises OutputError."""
        self._stream.close()

    def _write(self, record: Any) -> None:
        self._writer.write(record.SerializeToString())
        self._stream.flush()


def _keys(config: Config) -> Iterator[tuple[str, float | int | str | bool]]:
    """The keys that shape a training, and those that were not left at their defaults."""
    values = dataclasses.asdict(config)
    for name, item in options():
        group, _, key = name.partition(".")
        if group not in _GROUPS and name not in _ROOT:
            continue
        value = values[group][key] if key else values[group]
        numeric = isinstance(value, bool | int | float)
        if group in ("model", "optimizer", "train") or value != default_of(item):
            yield name, value if numeric else "" if value is None else str(value)


def _sample(file: Path) -> Iterator[Any]:
    """A sample as TensorBoard shows it: text, or sound with its picture if there is one."""
    from tensorboard.compat.proto.summary_pb2 import Summary
    from torch.utils.tensorboard import summary

    if file.suffix != ".wav":
        with file.open("rb") as stream:
            text = stream.read(_LONGEST).decode("utf-8", "replace")
        # It is read as Markdown, in which indented lines stand as they are.
        yield summary.text("sample", "".join(f"    {line}\n" for line in text.split("\n")))
        return
    wave, rate = read_whole(file)
    audio = Summary.Audio(
        sample_rate=rate,
        num_channels=1,
        length_frames=len(wave),
        encoded_audio_string=whole_wav(wave, rate),
        content_type="audio/wav",
    )
    yield Summary(value=[Summary.Value(tag="sample", audio=audio)])
    picture = file.with_suffix(".png")
    if picture.is_file():
        content = picture.read_bytes()
        width, height = struct.unpack(">II", content[16:24])
        image = Summary.Image(
            width=width, height=height, colorspace=4, encoded_image_string=content
        )
        yield Summary(value=[Summary.Value(tag="spectrogram", image=image)])
