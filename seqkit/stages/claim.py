"""The run that a training works on: its folder, the state it goes on from, and its settings."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from seqkit.config import Config
from seqkit.foundation.errors import CheckpointError, ConfigError
from seqkit.foundation.session import Session
from seqkit.runs import resume
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder


@dataclass(frozen=True)
class Claim:
    """A run, to whose folder nobody else writes.

    config: what is asked for, filled up with what the run decides.
    saved: the state that it goes on from; None if it starts.
    changed: the keys in which the config differs from the run's so far.
    """

    folder: RunFolder
    config: Config
    saved: Checkpoint | None = None
    changed: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether the run came to its end, and no more is asked for."""
        finished = self.saved and self.folder.finished_at == self.saved.metrics.get("step")
        return bool(finished) and not resume.MAY_CHANGE & {*self.changed}

    def over(self, config: Config, changed: Sequence[str]) -> str:
        """What is said of a run that came to its end. Raises ConfigError for other settings."""
        assert self.saved is not None
        keys = ("max_steps", "max_minutes", "patience", "max_epochs")
        ends = " and ".join(f"train.{key}" for key in keys if getattr(config.train, key))
        said = f"this run is finished, at step {self.saved.metrics.get('step')}"
        if differs := resume.allowed(config, self.saved, changed):
            raise ConfigError(f"{differs}; {said}")
        return f"{self.folder.path}: {said}; a larger {ends} extends it"


@contextlib.contextmanager
def claimed(config: Config, session: Session) -> Iterator[Claim]:
    """Keep others out of the run's folder until the block ends.

    Rank 0 keeps the folder; the other processes read the checkpoint that it found.

    Raises:
        ConfigError, CheckpointError, OutputError: the folder, or what is in it, does not allow it.
    """
    if config.resume != "never" and not config.run_dir:
        raise ConfigError(f"resume={config.resume}: give run_dir=FOLDER, the run to go on with")
    if not config.recipe:
        raise ConfigError(
            f"no recipe: resume=auto goes on with the run in {config.run_dir}"
            if config.run_dir and RunFolder(Path(config.run_dir)).holds_run
            else "no recipe: give recipe=shakespeare for text, recipe=names for a list, "
            "recipe=my_sound for sound; --help lists all"
        )
    if config.run_dir:
        folder = RunFolder(Path(config.run_dir))
    else:
        folder = RunFolder.timed(Path(config.runs), config.recipe)
    ranks = session.ranks
    with contextlib.ExitStack() as held:
        with ranks.turn(ranks.leads):
            if ranks.leads:
                folder.check_writable()
                held.enter_context(folder.claimed())
            goes_on = config.resume != "never" and folder.holds_run
            if config.resume == "force" and not goes_on:
                raise CheckpointError(f"resume=force: {folder.path} holds no run to go on with")
            if goes_on:
                saved = resume.find_last(folder, session.catalogue, session.notice)
            elif ranks.leads:
                prompts = config.prompt_file, config.prompt_audio
                read = *config.data.path, *prompts, config.init_from
                folder.check_new(read, overwrite=config.overwrite)
        if goes_on:
            config = _filled_up(config, saved, session)
            changed = resume.differences(config, saved.settings)
            resume.allowed(config, saved, changed)  # refused before data
            yield Claim(folder, config, saved, changed)
        else:
            yield Claim(folder, config)


def _filled_up(config: Config, saved: Checkpoint, session: Session) -> Config:
    """The config, with where and how the run reads its data if it does not say so itself."""
    data, stored = config.data, saved.settings
    if not data.path and stored.data.path:
        session.notice(f"the run goes on with its own data: {' and '.join(stored.data.path)}")
        data = dataclasses.replace(data, path=stored.data.path)
    data = dataclasses.replace(data, pattern=data.pattern or stored.data.pattern)
    if stored.init_from:
        data = saved.as_read(data)
    origin = config.init_from or stored.init_from
    return dataclasses.replace(config, data=data, init_from=origin)
