"""A search by Optuna: what to try next, by what came of what was tried.

The study is a file of lines of JSON in the sweep's folder, which several processes may add to.
"""

import contextlib
import importlib.util
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqkit.compose import Choices, Composed, Domain, Space
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError, DivergedError, OutputError
from seqkit.runs import record
from seqkit.sweeps.jobs import PRUNES, SEARCH, TRIAL, Job
from seqkit.sweeps.running import FINISHED, PRUNED

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

_NAME = "seqkit"
_MARK = b'"op_code":'  # every line of a study has it
_ASKED = "asked"
_NOT_ASKED = (
    *("run_dir", "runs", "resume", "overwrite", "quiet"),
    *("device", "length", "seconds", "prompt"),
)
"""Keys that may change while a search goes on."""
_LOCKED = 30  # seconds, after which a lock on the study is that of a process that was killed


def require() -> None:
    """Raise ConfigError where Optuna is not installed."""
    if importlib.util.find_spec("optuna") is None:
        raise ConfigError("search=optuna needs Optuna: pip install 'seqkit[optuna]'")


@contextlib.contextmanager
def failures(folder: Path) -> Iterator[None]:
    """What Optuna does with a study's file may fail. Raises OutputError, ConfigError."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {folder / SEARCH}: {disk.describe(error)}") from error
    except (ValueError, KeyError) as error:
        raise ConfigError(
            f"{folder / SEARCH}: damaged: remove it to search anew, or give another run_dir"
        ) from error


def opened(folder: Path, *, new: bool) -> "Study":
    """The study in a sweep's folder; with `new` it is made if it is not there.

    Raises:
        ConfigError, OutputError: it is damaged, or cannot be written.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner()
    file = folder / SEARCH
    if new:
        _settle(file)
        _unlock(file.with_name(f"{SEARCH}.lock"))
    with failures(folder):
        # Optuna's usual lock is a link. That of a process that was killed leads nowhere if the path
        # is relative, and would be waited for without end.
        lock = JournalFileOpenLock(str(file), grace_period=_LOCKED)
        storage = JournalStorage(JournalFileBackend(str(file), lock))
        if new:
            return optuna.create_study(
                storage=storage, study_name=_NAME, pruner=pruner, load_if_exists=True
            )
        return optuna.load_study(storage=storage, study_name=_NAME, pruner=pruner)


def _settle(file: Path) -> None:
    """Cut off half a line that a full disk or a kill left. Raises OutputError if it is no study."""
    if not file.is_file():
        return
    content = file.read_bytes()
    begun = content.rstrip(b"\0")  # after a power loss
    if _MARK not in content and not (b"{" + _MARK).startswith(begun):
        raise OutputError(f"{file} is no study of a search: move it away, or give another run_dir")
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        with disk.atomic_write(file) as stream:
            stream.write(whole)


def _unlock(lock: Path) -> None:
    """Remove the lock that a killed process left on a study."""
    with contextlib.suppress(FileNotFoundError):
        if time.time() - lock.lstat().st_mtime > _LOCKED:
            disk.remove(lock)


class Search:
    """Jobs with the settings that Optuna tries."""

    def __init__(
        self,
        folder: Path,
        space: Space,
        compose: Callable[[list[str]], Composed],
        *,
        trials: int,
        prune: bool,
        seed: int,
    ) -> None:
        """The search in a folder, which goes on where it stood.

        Args:
            folder: of the sweep.
            space: what is chosen.
            compose: makes a config of a command line.
            trials: how many settings are tried in all.
            prune: whether trainings that do worse than most are ended early.
            seed: of the choices; trial after trial, the same ones follow from the same losses.

        Raises:
            ConfigError: another search was begun in this folder.
        """
        self._folder = folder
        self._space = space
        self._compose = compose
        self._seed = seed
        self._prune = prune
        self._domains = {key: _distribution(domain) for key, domain in space.domains.items()}
        self._study = opened(folder, new=True)
        self._check_asked()
        with failures(folder):
            found = self._study.get_trials(deepcopy=False)
        self.jobs = [
            self._job(trial.number, trial.params)
            for trial in found
            if trial.params.keys() == self._domains.keys()
        ]
        """All that were begun."""
        states = {str(trial.number): trial.state.name for trial in found}
        self._begun = [job for job in self.jobs if states[job.name] == "RUNNING"]
        for job in self.jobs:
            job.outcome = _BEFORE.get(states[job.name], job.outcome)
            job.code = DivergedError.exit_code if states[job.name] == "FAIL" else 0
        self.total = max(trials, len(self.jobs))

    def next(self) -> Job | None:
        """One that was begun before, or a new one; None if all were handed out."""
        if self._begun:
            return self._begun.pop(0)
        if len(self.jobs) >= self.total:
            return None
        import optuna

        with failures(self._folder), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # A sampler of its own, so that a search that goes on chooses as if it had not stopped.
            seed = self._seed + len(self.jobs)
            self._study.sampler = optuna.samplers.TPESampler(seed=seed)
            trial = self._study.ask(self._domains)
        job = self._job(trial.number, trial.params)
        self.jobs.append(job)
        return job

    def tell(self, job: Job) -> None:
        """Tell Optuna; what has to be run again is left open."""
        from optuna.trial import TrialState

        number, left = int(job.name), record.read(job.files.path)
        with failures(self._folder):
            if job.outcome.startswith(FINISHED):
                if left.best is None:
                    raise ConfigError(
                        f"{job.files.path}: it has no validation loss to search by: give "
                        "data.split a validation part"
                    )
                self._study.tell(number, left.best[1], skip_if_finished=True)
            elif job.outcome == PRUNED:
                self._study.tell(number, state=TrialState.PRUNED, skip_if_finished=True)
            elif job.code == DivergedError.exit_code:
                self._study.tell(number, state=TrialState.FAIL, skip_if_finished=True)

    def _job(self, number: int, params: dict[str, Any]) -> Job:
        words = [f"{key}={_written(params[key])}" for key in self._space.domains]
        line = [*words, *self._space.words]
        job = Job.at(self._folder / str(number), self._compose(line), line, " ".join(words))
        job.environment = {TRIAL: str(number)} | ({PRUNES: "true"} if self._prune else {})
        return job

    def _check_asked(self) -> None:
        """Raise ConfigError where the search in the folder was asked for something else."""
        asked = dict(word.partition("=")[::2] for word in self._space.words)
        asked = {key: value for key, value in asked.items() if key not in _NOT_ASKED}
        asked |= {key: repr(domain) for key, domain in self._space.domains.items()}
        with failures(self._folder):
            before = self._study.user_attrs.get(_ASKED)
            if before is None:
                self._study.set_user_attr(_ASKED, asked)
        if before not in (None, asked):
            keys = {key for key in {*asked, *before} if asked.get(key) != before.get(key)}
            raise ConfigError(
                f"run_dir={self._folder}: the search in it was begun with another "
                f"{', '.join(sorted(keys))}: give the same, or another run_dir"
            )


_BEFORE = {"COMPLETE": "finished before", "PRUNED": PRUNED, "FAIL": "failed, exit code 7"}
"""What came of a trial that an earlier start ended."""


def _distribution(domain: Domain) -> "BaseDistribution":
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if isinstance(domain, Choices):
        return CategoricalDistribution(domain.values)
    low, high = domain.low, domain.high
    if isinstance(low, int) and isinstance(high, int):
        return IntDistribution(low, high, log=domain.log, step=int(domain.step or 1))
    return FloatDistribution(low, high, log=domain.log, step=domain.step)


def _written(value: object) -> str:
    """A value as a command line has it."""
    return value if isinstance(value, str) else repr(value)
