"""The run that a training works on: its folder, the state it goes on from, and its settings.

Here all settings are decided: no later stage changes one.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seqkit.config import Config
from seqkit.data.codecs import Characters
from seqkit.data.corpus import Corpus
from seqkit.data.load import Known
from seqkit.foundation.errors import CheckpointError, ConfigError
from seqkit.foundation.session import Notice, Session
from seqkit.runs import named_checkpoint, resume
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder
from seqkit.stages import settings


@dataclass(frozen=True)
class Claim:
    """A run; if its folder holds one, nobody else writes to it.

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
        return bool(finished) and not settings.MAY_CHANGE & {*self.changed}

    def over(self) -> str:
        """What is said of a run that came to its end. Raises ConfigError for other settings."""
        assert self.saved is not None
        keys = ("max_steps", "max_minutes", "patience", "max_epochs")
        ends = " and ".join(f"train.{key}" for key in keys if getattr(self.config.train, key))
        said = f"this run is finished, at step {self.saved.metrics.get('step')}"
        if differs := settings.allowed(self.config, self.saved, self.changed):
            raise ConfigError(f"{differs}; {said}")
        return f"{self.folder.path}: {said}; a larger {ends} extends it"

    def compare(self, corpus: Corpus, notice: Notice) -> None:
        """Tell in what a run differs from what it was.

        Raises ConfigError where it may not go on so; with other data it never may.
        """
        changed, saved = self.changed, self.saved
        if saved is None:
            return
        if saved.data.get("sha256") != corpus.sha256:
            changed += (f"the data itself (the run learns from {saved.data.get('name')})",)
        if differs := settings.allowed(self.config, saved, changed):
            notice(f"going on though {differs}")


@contextlib.contextmanager
def claimed(config: Config, session: Session) -> Iterator[Claim]:
    """Keep others out of a folder that holds a run until the block ends.

    A new folder is locked when all is set up, by `RunFolder.make`. Rank 0 keeps the folder; the
    other processes read the checkpoint that it found.

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
                folder.check_new(overwrite=config.overwrite)
        if goes_on:
            config = settings.filled_up(config, saved, session.notice)
            changed = settings.differences(config, saved.settings)
            settings.allowed(config, saved, changed)  # refused before data
            yield Claim(folder, config, saved, changed)
        else:
            yield Claim(folder, config)


def settled(claim: Claim, session: Session) -> tuple[Config, Known, Checkpoint | None]:
    """Find out where the data are, and read the weights to start from.

    Returns:
        The config as the run keeps it; what the checkpoint to start from decides on how data are
        read; and this one, if it is of another training.

    Raises:
        SeqkitError: standard input cannot be read, or the weights to start from.
    """
    saved, ranks, origin = claim.saved, session.ranks, None
    with ranks.turn(ranks.rank.local_number == 0):  # the others find what it left in the cache
        config = settings.located(claim.config, session)
        if saved is None and config.init_from is not None:
            origin = named_checkpoint.load_checkpoint(config.init_from, session.catalogue, session)
            data = config.data.read_as(origin.settings.data)
            if data.document != config.data.document:
                told = f"data.document={data.document}, as in the training of the checkpoint"
                session.notice(told)
            config = dataclasses.replace(config, data=data)
    start, known = saved or origin, Known()
    if start is not None:
        data = config.data
        # New characters get symbols, if there is a limit up to that; or else data.unknown counts.
        grows = data.unknown == "error" or data.max_vocabulary > 0
        grows = grows and saved is None and isinstance(start.codec, Characters)
        known = Known(start.codec, start.labels, grow=grows, samples=saved is None)
    return config, known, origin
