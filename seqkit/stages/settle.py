"""The settings of a training: those of its arguments, and of the run that goes on."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from seqkit.config import Config, as_data_asks
from seqkit.data import remote
from seqkit.data.shards import reading as shards
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.session import Session
from seqkit.runs import resume
from seqkit.stages.claim import Claim


@dataclass(frozen=True)
class Settings:
    """The config of a training.

    changed: the keys in which it differs from the run's so far.
    fetched: whether its data were fetched already, to see how they are read.
    """

    config: Config
    changed: tuple[str, ...] = ()
    fetched: bool = False


def settle(config: Config, claim: Claim, session: Session) -> Settings | None:
    """Fill `config` up with what the run decides; None if the run is finished, which is told.

    Raises:
        ConfigError: it asks for something with which the run cannot go on.
    """
    saved = claim.saved
    if saved is None:
        return Settings(config)
    if saved.config.get("init_from"):
        config = dataclasses.replace(config, data=saved.as_read(config.data))
    config = resume.with_place(config, saved, session.notice)
    config = resume.without_new_keys(config, saved, session.notice)
    cache, ranks = disk.cache_dir(), session.ranks
    with ranks.turn(ranks.rank.local_number == 0):  # the others find its copies
        fetched = any(map(remote.is_remote, remote.cached(config.data, cache).path))
        if fetched:  # shards say in their index how to read them
            remote.fetch(config.data, cache, session.notice, session.progress)
    config = as_data_asks(dataclasses.replace(config, data=shards.with_prepared_keys(config.data)))
    changed = tuple(resume.differences(config, saved.config))
    config = dataclasses.replace(config, init_from=saved.config.get("init_from"))
    asks_for_more = resume.asks_for_more(changed)
    if claim.folder.finished_at == saved.metrics.get("step") and not asks_for_more:
        tell_finished(config, changed, claim, session)
        return None
    resume.allowed(config, saved, changed)
    if by_steps := resume.clock_left(config, saved):
        session.notice(by_steps)
    return Settings(config, changed, fetched)


def tell_finished(config: Config, changed: Sequence[str], claim: Claim, session: Session) -> None:
    """Tell that a run is finished. Raises ConfigError if other settings are forced on it."""
    saved = claim.saved
    assert saved is not None
    finished = resume.finished(config, saved.metrics.get("step"))
    if differs := resume.allowed(config, saved, changed):
        raise ConfigError(f"{differs}; {finished}")
    session.notice(f"{claim.folder.path}: {finished}")
