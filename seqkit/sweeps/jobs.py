"""The jobs of a sweep: each is one training, in a numbered folder of the sweep's own."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from seqkit.compose import Composed
from seqkit.runs import resume
from seqkit.runs.layout import RunFiles

SEARCH = "search.jsonl"
"""The study of a search, in the sweep's folder."""


@dataclass
class Job:
    """One training of a sweep.

    composed: its config and catalogue; `run_dir` is its own folder.
    words: its own command line, without that folder.
    own: those of its words that tell it from the other jobs.
    environment: variables that its process gets in addition to those of this one.
    code: its exit code, 0 as long as it did not fail.
    """

    composed: Composed
    words: Sequence[str]
    own: str
    files: RunFiles
    environment: Mapping[str, str] = field(default_factory=dict)
    outcome: str = "not started"
    code: int = 0

    @classmethod
    def at(cls, folder: Path, composed: Composed, words: Sequence[str], own: str) -> "Job":
        """A job with this folder for its run."""
        config = dataclasses.replace(composed.config, run_dir=str(folder))
        return cls(composed._replace(config=config), words, own, RunFiles(folder))

    @property
    def name(self) -> str:
        """Its number, from 0."""
        return self.files.path.name

    @property
    def log(self) -> Path:
        """What its process writes: notices, failures and the closing sample."""
        return self.files.path.with_name(f"{self.name}.log")

    @property
    def is_finished(self) -> bool:
        """Whether its run came to its end with these very settings; if in doubt, train decides."""
        try:
            settings = json.loads(self.files.summary.read_bytes())["settings"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return False
        return resume.is_same(self.composed.config, settings)


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
        self.total = len(jobs)
        self._waiting = iter(jobs)

    def next(self) -> Job | None:
        """The next in order; None after the last."""
        return next(self._waiting, None)

    def tell(self, job: Job) -> None:
        """Nothing depends on it."""
