"""Train from Python, as the command does."""

import json
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqkit import compose
from seqkit.api.model import Model, load
from seqkit.api.run_files import save_closing_sample
from seqkit.api.run_training import run_training
from seqkit.data import files
from seqkit.foundation import device, disk, processes
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import CheckpointError, ConfigError
from seqkit.foundation.ranks import Session
from seqkit.foundation.run_folders import RunFiles
from seqkit.foundation.settings import check_list, check_type
from seqkit.runs.events import Event
from seqkit.stages.network import SMALLER
from seqkit.stages.training import set_up

_LOG = logging.getLogger("seqkit")
_LONGEST = 1024  # characters of a path


@dataclass(frozen=True)
class Run:
    """A run's folder after its training."""

    path: Path
    plugins: tuple[str, ...] = ()

    @property
    def summary(self) -> dict[str, Any]:
        """What summary.json holds: best_validation_loss, best_step, train_seconds …"""
        return dict(self._objects(RunFiles(self.path).summary, whole=True)[0])

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl."""
        return self._objects(RunFiles(self.path).metrics, whole=False)

    def _objects(self, file: Path, *, whole: bool) -> list[dict[str, Any]]:
        """The JSON objects of a file: one that is the whole file, or one a line."""
        try:
            content = file.read_bytes()
            return [json.loads(part) for part in ([content] if whole else content.splitlines())]
        except OSError as error:
            raise CheckpointError(f"{file}: cannot be read: {disk.describe(error)}") from error
        except ValueError as error:
            raise CheckpointError(f"{file}: damaged: {error}") from error

    def load(self, device: str = "auto") -> Model[Any]:
        """The model of the best checkpoint."""
        return load(self.path, device, self.plugins)


def train(
    recipe: str | None,
    *overrides: str,
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    text: str | None = None,
    on_event: Callable[[Event], object] | None = None,
    plugins: Sequence[str] = (),
    config_dirs: Sequence[str | os.PathLike[str]] = (),
) -> Run:
    """Train as `python -m seqkit recipe=… key=value …` does, into a folder of the same kind.

    Nothing is printed and no signal handler is installed: on KeyboardInterrupt the run stays as its
    last checkpoint left it.

    Args:
        recipe: the name of a recipe; None to go on with the run of "run_dir=…" by its own
            settings, with "resume=auto".
        overrides: key=value, as on the command line.
        data: a file or folder to learn from, or several: `data.path`.
        text: what to learn from, in place of `data`; the cache keeps it.
        on_event: called with each event of the run, see `seqkit.runs.events`.
        plugins: modules that bring data sets or codecs.
        config_dirs: folders with recipes of your own: `--config-dir`.

    Raises:
        SeqkitError: what the command would end with, in the same words.
    """
    if processes.own_rank().size > 1:
        raise ConfigError("seqkit.train runs in one process: for several, torchrun -m seqkit …")
    if recipe is not None:
        check_type("recipe", recipe, str)
    check_list("override", overrides, str)
    if on_event is not None and not callable(on_event):
        raise ConfigError(f"on_event={on_event!r}: expected a function, got no callable")
    words = [*overrides] if recipe is None else [f"recipe={recipe}", *overrides]
    places = _places(data, text)
    if places and any(word.startswith("data.path=") for word in words):
        raise ConfigError("give data.path, data or text, not two of them")
    words += [f"data.path={place}" for place in places]
    check_list("plugins", plugins, str)
    check_list("config_dirs", config_dirs, str | os.PathLike)
    words += [f"plugins={','.join(plugins)}"] if plugins else []
    config = compose.compose_training(words, [*map(Path, config_dirs)])
    catalogue = Catalogue(config.plugins)
    if config.run_dir:  # whatever the program's folder is, while it trains
        config.run_dir = str(Path(config.run_dir).absolute())
    config.runs = str(Path(config.runs).absolute())
    observers = [] if on_event is None else [on_event]
    with set_up(config, Session(catalogue, _LOG.info)) as training:
        if training is None:
            return Run(Path(config.run_dir or "").absolute(), tuple(config.plugins))
        run_training(training, observers, _LOG.info)
        if not training.closing.medium.printed:
            with device.memory_errors(SMALLER):
                save_closing_sample(training, _LOG.info)
        return Run(training.claim.folder.path.absolute(), tuple(config.plugins))


def _places(data: Any, text: str | None) -> list[str]:
    """The paths of the data, of which a text becomes a file of the cache. Raises SeqkitError."""
    if text is not None:
        check_type("text", text, str)
        if data is not None:
            raise ConfigError("give data or text, not both")
        if not text.strip():
            raise ConfigError("text is empty: there is nothing to learn from")
        content = text.encode(errors="replace")
        return [files.keep("text", [content], _LOG.info)]
    places = [] if data is None else [data] if isinstance(data, str | os.PathLike) else data
    check_list("data", places, str | os.PathLike)
    for path in map(os.fspath, places):
        if ("\n" in path or len(path) > _LONGEST) and not os.path.lexists(path):
            raise ConfigError(f"data is no path, but {len(path):,} characters: give a text as text")
    return [*map(os.fspath, places)]
