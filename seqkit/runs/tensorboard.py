"""A training in TensorBoard: its scalars and samples."""

from collections.abc import Callable
from typing import Any

from seqkit.data.sound.reader import read_whole
from seqkit.runs.events import Diverged, Event, Finished, Sampled, Started, Stopped
from seqkit.runs.folder import RunFolder
from seqkit.training.events import Trained, Validated

_SHOWN = ("loss", "bits_per_symbol", "learning_rate", "gradient_norm", "symbols_per_second")


class TensorBoard:
    """tensorboard/: event files, of which a later one drops what is beyond its first step."""

    def __init__(self, folder: RunFolder, notice: Callable[[str], None]) -> None:
        """`notice` is told of a failure, which does not end the training."""
        self._folder, self._notice = folder.tensorboard, notice
        self._writer: Any = None

    def __call__(self, event: Event) -> None:
        """Record the event, unless an earlier one could not be recorded."""
        try:
            self._record(event, self._writer)
        except Exception as error:
            self._notice(f"nothing more for TensorBoard: {error}")
            self._writer = None

    def _record(self, event: Event, writer: Any) -> None:
        match event:
            case Started():
                from torch.utils.tensorboard import SummaryWriter

                self._writer = SummaryWriter(str(self._folder), purge_step=event.step + 1)
            case Trained() | Validated() if writer:
                group = "train" if isinstance(event, Trained) else "validation"
                for name in _SHOWN:
                    if (value := getattr(event, name, None)) is not None:
                        writer.add_scalar(f"{group}/{name}", value, event.step)
            case Sampled() if writer and event.file.suffix == ".wav":
                wave, rate = read_whole(event.file)
                writer.add_audio("sample", wave, event.step, rate)
            case Sampled() if writer:  # read as Markdown, in which indented lines stay as they are
                lines = event.file.read_text(errors="replace").split("\n")
                writer.add_text("sample", "\n".join(f"    {line}" for line in lines), event.step)
            case Finished() | Stopped() | Diverged() if writer:
                writer.close()
