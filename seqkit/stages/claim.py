"""The run that a training works on: its folder, the state it goes on from, and its settings.

Here all settings are decided, and which of them may differ when a run goes on: no later stage
changes one.
"""

import contextlib
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seqkit.config import ARITHMETIC_KEYS, Config, values_of
from seqkit.data import files
from seqkit.data.codecs import Characters
from seqkit.data.corpus import Corpus
from seqkit.data.load import Known
from seqkit.foundation.console import Notice
from seqkit.foundation.errors import CheckpointError, ConfigError, OutputError
from seqkit.foundation.ranks import Session
from seqkit.runs import named_checkpoint, resume
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder

_FIXED = ("init_from", "data.", "train.batch_size")
"""Keys that no run can go on with others of; the lanes of a batch have a state each."""
PLACE_KEYS = {"data.path", "data.pattern"}
"""Keys that say where the data is: its digest tells whether it is the same."""
MAY_CHANGE = PLACE_KEYS | {
    *("train.max_steps", "train.max_epochs", "train.max_minutes", "train.patience"),
    *("train.validate_every", "train.checkpoint_every", "model.backend"),
}
"""Keys that say where, how long and how fast a run trains; all else shapes what it learns."""


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
        return bool(finished) and not MAY_CHANGE & {*self.changed}

    def over(self) -> str:
        """What is said of a run that came to its end. Raises ConfigError for other settings."""
        assert self.saved is not None
        keys = ("max_steps", "max_minutes", "patience", "max_epochs")
        ends = " and ".join(f"train.{key}" for key in keys if getattr(self.config.train, key))
        said = f"this run is finished, at step {self.saved.metrics.get('step')}"
        if allowed(self.config, self.saved, self.changed):
            raise ConfigError(f"{said}: with a larger {ends} it goes on as you ask")
        return f"{self.folder.path}: {said}; a larger {ends} extends it"

    def compare(self, corpus: Corpus, notice: Notice) -> None:
        """Tell in what a run differs from what it was.

        Raises ConfigError where it may not go on so; with other data it never may.
        """
        saved, folder = self.saved, self.folder.path
        if saved is None:
            return
        if saved.data.get("sha256") != corpus.sha256:
            begin = shlex.quote(f"init_from={folder}")
            raise ConfigError(
                f"{corpus.name} is not as it was when the run in {folder} began: put it back, or "
                f"begin a new run, in another run_dir, with {begin}"
            )
        if differs := allowed(self.config, saved, self.changed):
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
    folder, ranks = RunFolder.asked_for(config), session.ranks
    if not config.recipe:
        raise ConfigError(
            f"no recipe: resume=auto goes on with the run in {config.run_dir}"
            if folder.holds_run
            else "no recipe: give recipe=shakespeare for text, recipe=names for a list, "
            "recipe=my_sound for sound; --help lists all"
        )
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
                own = config.init_from and Path(config.init_from).resolve()
                if own and own.is_relative_to(folder.path.resolve()):
                    raise OutputError(
                        f"run_dir={folder.path} holds what init_from reads: give another"
                    )
                folder.check_new(overwrite=config.overwrite)
        if goes_on:
            config = filled_up(config, saved, session.notice)
            changed = differences(config, saved.settings)
            allowed(config, saved, changed)  # refused before data
            yield Claim(folder, config, saved, changed)
        else:
            yield Claim(folder, config)


def settled(claim: Claim, session: Session) -> tuple[Config, Known, Checkpoint | None]:
    """Find out where the data are, and read the weights to start from.

    Returns:
        The config as the run keeps it; what the checkpoint to start from decides on how data are
        read; and this one, if it is of another training.

    Raises SeqkitError: standard input cannot be read, or the weights to start from.
    """
    saved, ranks, origin = claim.saved, session.ranks, None
    with ranks.turn(ranks.rank.local_number == 0):  # the others find what it left in the cache
        config = located(claim.config, session)
        if saved is None and config.init_from is not None:
            origin = named_checkpoint.load_checkpoint(config.init_from, session.catalogue, session)
            data = config.data.read_as(origin.settings.data)
            if data.document != config.data.document:
                told = f"data.document={data.document}, as in the training of the checkpoint"
                session.notice(told)
            config = replace(config, data=data)
    start, known = saved or origin, Known()
    if start is not None:
        data = config.data
        # New characters get symbols, if there is a limit up to that; or else data.unknown counts.
        grows = data.unknown == "error" or data.max_vocabulary > 0
        grows = grows and saved is None and isinstance(start.codec, Characters)
        known = Known(start.codec, start.labels, grow=grows, samples=saved is None)
    return config, known, origin


def located(config: Config, session: Session) -> Config:
    """The config as a run keeps it, with a file in the place of standard input."""
    prompt = [] if config.prompt_file is None else [config.prompt_file]
    paths = files.on_disk([*config.data.path, *prompt], session.notice, session.progress)
    data = replace(config.data, path=paths[: len(config.data.path)])
    return as_kept(replace(config, data=data, prompt_file=paths[-1] if prompt else None))


def filled_up(config: Config, saved: Checkpoint, notice: Notice) -> Config:
    """The config, with where and how the run reads its data if it does not say so itself."""
    data, stored = config.data, saved.settings
    if not data.path and stored.data.path:
        notice(f"the run goes on with its own data: {' and '.join(stored.data.path)}")
        data = replace(data, path=stored.data.path)
    data = replace(data, pattern=data.pattern or stored.data.pattern)
    if stored.init_from:
        data = data.read_as(stored.data)
    origin = config.init_from or stored.init_from
    return replace(config, data=data, init_from=origin)


def as_kept(config: Config) -> Config:
    """The config as a run keeps it: known from every folder, and with what its data ask for.

    That is an input beside labels, and an end of documents that are cut within files.
    """
    kept = replace(
        config,
        seed=config.fixed_seed,
        data=replace(config.data, path=[str(Path(path).absolute()) for path in config.data.path]),
        init_from=config.init_from and named_checkpoint.absolute(config.init_from),
        prompt_file=config.prompt_file and str(Path(config.prompt_file).absolute()),
        prompt_audio=config.prompt_audio and str(Path(config.prompt_audio).absolute()),
    )
    ends = kept.data.cuts_files if kept.model.ends is None else kept.model.ends
    embedded = "embedding" if kept.data.label else kept.model.input
    return replace(kept, model=replace(kept.model, ends=ends, input=embedded))


def differences(config: Config, stored: Config) -> tuple[str, ...]:
    """The keys of data, network and training of which a run has other values than are asked for."""
    wanted, before = values_of(as_kept(config)), values_of(as_kept(stored))
    groups = ("data.", "model.", "optimizer.", "train.")
    compared = [name for name in wanted if name.startswith(groups)]
    return tuple(name for name in ("seed", "init_from", *compared) if wanted[name] != before[name])


def allowed(config: Config, saved: Checkpoint, changed: Sequence[str]) -> str | None:
    """What differs between a run and what is asked for, in words, where resume=force allows it.

    None where nothing does that shapes what the run learns.

    Raises ConfigError: the run cannot go on so.
    """
    changed = [name for name in changed if name not in MAY_CHANGE]
    if saved.settings.init_from:  # it brought its own network, whatever was asked for
        changed = [name for name in changed if not _shapes_network(name)]
    if not changed:
        return None
    differs = f"the run in {config.run_dir} began with another value: {', '.join(changed)}"
    fixed = any(name.startswith(_FIXED) or _shapes_network(name) for name in changed)
    if config.resume == "force" and not fixed:
        return differs
    forced = "" if fixed else ", or give resume=force"
    new = not any(_shapes_network(name) or name == "init_from" for name in changed)
    forced += f", or begin a new run with {shlex.quote(f'init_from={config.run_dir}')}" * new
    raise ConfigError(f"{differs}. Leave it as it was{forced}")


def _shapes_network(name: str) -> bool:
    return name.startswith("model.") and name.removeprefix("model.") not in ARITHMETIC_KEYS
