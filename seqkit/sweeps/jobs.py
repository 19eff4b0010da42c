"""The jobs of a sweep: each is one training, in a numbered folder of the sweep's own."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import seqkit
from seqkit.compose import Composed
from seqkit.config import Config
from seqkit.foundation.errors import ConfigError, InterruptedRunError, StoppedError
from seqkit.runs import record, resume
from seqkit.runs.layout import RunFiles

STOPPED = (StoppedError.exit_code, InterruptedRunError.exit_code)
"""Exit codes of a training that was asked to stop."""

SEARCH = "search.jsonl"
"""The study of a search, in the sweep's folder."""

TRIAL = "SEQKIT_TRIAL"
"""The variable that tells a job's process the number of its trial in a search."""

PRUNES = "SEQKIT_PRUNES"
"""The variable that is there if the search may end the job early."""


@dataclass
class Job:
    """One training of a sweep.

    composed: its config and catalogue; `run_dir` is its own folder.
    words: its own command line, without that folder.
    own: those of its words that tell it from the other jobs.
    ends: the keys that say when its run ends, where they tell it from the other jobs.
    environment: variables that its process gets in addition to those of this one.
    code: its exit code, 0 as long as it did not fail.
    """

    composed: Composed
    words: Sequence[str]
    own: str
    files: RunFiles
    ends: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    outcome: str = "not started"
    code: int = 0

    @classmethod
    def at(
        cls,
        folder: Path,
        composed: Composed,
        words: Sequence[str],
        own: str,
        ends: Sequence[str] = (),
    ) -> "Job":
        """A job with this folder for its run."""
        config = dataclasses.replace(composed.config, run_dir=str(folder))
        return cls(composed._replace(config=config), words, own, RunFiles(folder), ends)

    @property
    def name(self) -> str:
        """Its number, from 0."""
        return self.files.path.name

    @property
    def log(self) -> Path:
        """What its process writes: notices, failures and the closing sample."""
        return self.files.path.with_name(f"{self.name}.log")

    def summary(self) -> bytes | None:
        """The content of its run's summary.json; None without one."""
        try:
            return self.files.summary.read_bytes()
        except OSError:
            return None

    @property
    def is_finished(self) -> bool:
        """Whether its run came to its end with these very settings.

        Of a run for which this is not certain, as when its data has moved, the training decides.
        """
        try:
            settings = json.loads(self.summary() or b"")["settings"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return False
        return self._keeps(settings)

    @property
    def was_pruned(self) -> bool:
        """Whether a search ended its run, with these very settings, before this sweep began."""
        left = record.read(self.files.path)
        if left.state != "pruned" or left.settings is None:
            return False
        return self._keeps(dataclasses.asdict(left.settings))

    def check_run(self) -> None:
        """Raise ConfigError where the run in its folder was another job's, in another sweep.

        A training would go on with it, as one that is resumed need not say again what it began
        with, nor end where it was to end.
        """
        config, before = self.composed.config, record.settings_of(self.files)
        if before is None:
            return
        pairs = [(name, _value(config, name), _value(before, name)) for name in self.ends]
        if before.init_from and not config.init_from:
            pairs.append(("init_from", None, before.init_from))
        if before.data.path and not (config.data.path or _of_a_data_set(before)):
            pairs.append(("data.path", None, " and ".join(before.data.path)))
        for name, asked, own in pairs:
            if asked != own:
                given = "" if asked is None else f"{name}={asked}: "
                raise ConfigError(
                    f"{given}the run in {self.files.path} has {name}={own}: give that in this "
                    "place, or another run_dir, or overwrite=true in place of resume=auto to begin "
                    "the sweep anew"
                )

    def _keeps(self, settings: Mapping[str, Any]) -> bool:
        """Whether the run in its folder, made with these settings, is the one asked for."""
        config = self.composed.config
        anew = config.overwrite and config.resume == "never"
        return not anew and resume.is_same(config, settings)


def _of_a_data_set(config: Config) -> bool:
    """Whether a run reads the sample that stood in for a data set, as where none was asked for."""
    own = Path(seqkit.__file__).parent
    return all(Path(path).is_relative_to(own) for path in config.data.path)


def told_apart_by_their_ends(configs: Sequence[Config]) -> list[str]:
    """The keys that say when a run ends and that have several values among those of a sweep."""
    return [
        name for name in sorted(resume.END_KEYS) if len({str(_value(c, name)) for c in configs}) > 1
    ]


def _value(config: Config, name: str) -> object:
    holder, _, key = name.partition(".")
    return getattr(getattr(config, holder), key)


class Source(Protocol):
    """Where jobs come from: a list of all combinations, or a search."""

    @property
    def jobs(self) -> Sequence[Job]:
        """Those that are known so far, by their numbers."""

    @property
    def total(self) -> int:
        """How many there will be."""

    def next(self) -> Job | None:
        """Another one to run; None if there is no more."""

    def tell(self, job: Job) -> None:
        """Take note of the outcome of one that was handed out."""


class Grid:
    """Jobs that are all known from the beginning."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
        self._waiting = iter(jobs)

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.jobs)

    def next(self) -> Job | None:
        """The next in order; None after the last."""
        return next(self._waiting, None)

    def tell(self, job: Job) -> None:
        """Nothing depends on it."""
