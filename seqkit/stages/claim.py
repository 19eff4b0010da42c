"""The run that a training works on: its folder, the state it goes on from, and its settings.

Here all settings are decided: no later stage changes one.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from seqkit.config import Config
from seqkit.data import stdin
from seqkit.data.codecs import Characters
from seqkit.data.corpus import Corpus
from seqkit.data.load import Known
from seqkit.foundation.errors import CheckpointError, ConfigError
from seqkit.foundation.session import Notice, Session
from seqkit.runs import named_checkpoint, resume
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder


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

    def compare(self, config: Config, corpus: Corpus, notice: Notice) -> None:
        """Tell in what a run differs from what it was.

        Raises ConfigError where it may not go on so; with other data it never may.
        """
        changed, saved = self.changed, self.saved
        if saved is None:
            return
        if saved.data.get("sha256") != corpus.sha256:
            changed += (f"the data itself (the run learns from {saved.data.get('name')})",)
        if differs := resume.allowed(config, saved, changed):
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


@dataclass(frozen=True)
class Settled:
    """What a training is by, before its data are read.

    config: what is asked for, as a run keeps it.
    known: what the checkpoint to start from decides on how they are read.
    other: the checkpoint of another training whose weights it starts from, if any.
    """

    config: Config
    known: Known
    other: Checkpoint | None = None


def settled(claim: Claim, session: Session) -> Settled:
    """Find out what a run is by: where its data are, and what its weights to start from decide.

    Raises:
        SeqkitError: standard input cannot be read, or the weights to start from.
    """
    saved, ranks, other = claim.saved, session.ranks, None
    with ranks.turn(ranks.rank.local_number == 0):  # the others find what it left in the cache
        config = _located(claim.config, session)
        if saved is None and config.init_from is not None:
            other = named_checkpoint.load_checkpoint(config.init_from, session.catalogue, session)
            data = other.as_read(config.data)
            if data.document != config.data.document:
                told = f"data.document={data.document}, as in the training of the checkpoint"
                session.notice(told)
            config = dataclasses.replace(config, data=data)
    start, known = saved or other, Known()
    if start is not None:
        data = config.data
        # New characters get symbols, if there is a limit up to that; or else data.unknown counts.
        grows = data.unknown == "error" or data.max_vocabulary > 0
        grows = grows and saved is None and isinstance(start.codec, Characters)
        read = other.settings.data if other else None  # a resumed run's were compared before
        known = Known(start.codec, start.labels, read, grow=grows, samples=saved is None)
    return Settled(config, known, other)


def _located(config: Config, session: Session) -> Config:
    """The config as a run keeps it: absolute paths, and a file in place of standard input."""
    prompt = [] if config.prompt_file is None else [config.prompt_file]
    files = stdin.on_disk([*config.data.path, *prompt], session.notice, session.progress)
    config = dataclasses.replace(
        config,
        data=dataclasses.replace(config.data, path=files[: len(config.data.path)]),
        prompt_file=str(Path(files[-1]).absolute()) if prompt else None,
        prompt_audio=config.prompt_audio and str(Path(config.prompt_audio).absolute()),
    )
    return resume.as_kept(config)
