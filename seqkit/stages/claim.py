"""The run that a training works on: its folder, and the state it goes on from."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seqkit.advice.recommend import suggested_recipe
from seqkit.config import Config
from seqkit.foundation.errors import CheckpointError, ConfigError
from seqkit.foundation.session import Session
from seqkit.runs import resume
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder
from seqkit.runs.resume import LastState


@dataclass(frozen=True)
class Claim:
    """A run's folder, which nobody else writes to, and the state in it to go on from, if any."""

    folder: RunFolder
    last: LastState | None

    @property
    def saved(self) -> Checkpoint | None:
        """The run's own checkpoint; None if the run starts."""
        return self.last and self.last.checkpoint


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
            else f"no recipe: give {suggested_recipe(config.data)}; --help lists all"
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
            if ranks.leads and not goes_on:
                folder.check_new(config)
            last = None
            if goes_on:
                last = resume.find_last(folder.files, session.catalogue, session.notice)
        yield Claim(folder, last)
