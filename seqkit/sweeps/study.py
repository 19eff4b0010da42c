"""A search by Optuna: what to try next, by what came of what was tried.

The study is a file of lines of JSON in the sweep's folder. The sweep's process adds settings and
results to it, and the process of each job its validations.
"""

import contextlib
import importlib.util
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqkit.compose import Choices, Composed, Domain, Space
from seqkit.config import SearchConfig
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError, DivergedError, OutputError
from seqkit.runs import record
from seqkit.runs.events import Event
from seqkit.sweeps.jobs import SEARCH, Job
from seqkit.sweeps.running import FINISHED, PRUNED, Grid
from seqkit.training.events import Validated

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial

TRIAL = "SEQKIT_TRIAL"
"""The variable that tells a job's process the number of its trial, if that may be ended early."""
_NAME = "seqkit"
_MARK = b'"op_code":'  # every line of a study has it
_ASKED = "asked"
_NOT_ASKED = (
    *("run_dir", "runs", "resume", "overwrite", "quiet"),
    *("device", "length", "seconds", "prompt"),
)
"""Keys that may change while a search goes on."""
_LOCKED = 30  # seconds, after which a lock on the study is that of a process that was killed
_BEFORE = {"COMPLETE": f"{FINISHED} before", "PRUNED": PRUNED, "FAIL": "failed, exit code 7"}
"""What came of a trial that an earlier start ended."""


def check(space: Space) -> None:
    """Raise ConfigError where Optuna is missing, or these are no keys to search."""
    if importlib.util.find_spec("optuna") is None:
        raise ConfigError("search=optuna needs Optuna: pip install 'seqkit[optuna]'")
    if not space.domains:
        raise ConfigError(
            "search=optuna: no key to search: give a range, such as "
            "optimizer.lr='tag(log,interval(1e-4,1e-2))' or model.num_layers=1,2,3"
        )
    for key in space.domains:
        if key == "recipe" or key.startswith("data."):
            raise ConfigError(
                f"{key}: losses on other data cannot be compared: search=optuna needs one value"
            )


class Search(Grid):
    """Jobs with the settings that Optuna tries."""

    def __init__(
        self,
        folder: Path,
        space: Space,
        compose: Callable[[list[str]], Composed],
        asked: SearchConfig,
        seed: int,
    ) -> None:
        """The search in a folder, which goes on where it stood.

        Args:
            folder: of the sweep.
            space: what is chosen.
            compose: makes a config of a command line.
            asked: how many settings are tried in all, and whether trainings may be ended early.
            seed: of the choices; trial after trial, the same ones follow from the same losses.

        Raises:
            ConfigError: another search was begun in this folder.
            OutputError: what is there is no study.
        """
        self._folder, self._space, self._compose = folder, space, compose
        self._prune, self._seed = asked.prune, seed
        self._domains = {key: _distribution(domain) for key, domain in space.domains.items()}
        _settle(folder / SEARCH)
        with _damage_explained(folder):
            self._study = _load_study(folder)
            trials = self._study.get_trials(deepcopy=False)
        self._check_asked()
        whole = [trial for trial in trials if trial.params.keys() == self._domains.keys()]
        super().__init__([self._job(trial.number, trial.params) for trial in whole])
        for job, trial in zip(self.jobs, whole, strict=True):
            job.outcome = _BEFORE.get(trial.state.name, job.outcome)
            job.code = DivergedError.exit_code if trial.state.name == "FAIL" else 0
        self._waiting = [job for job in self.jobs if job.outcome == "not started"]
        self.total = max(asked.trials, len(self.jobs))

    def next(self) -> Job | None:
        """One that was begun before, or a new one; None if all were handed out."""
        begun = super().next()
        if begun or len(self.jobs) >= self.total:
            return begun
        import optuna

        with _damage_explained(self._folder), warnings.catch_warnings():
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

        loss = state = None
        if job.outcome.startswith(FINISHED):
            left = record.read(job.files.path)
            if left.best is None:
                raise ConfigError(
                    f"{job.files.path}: it has no validation loss to search by: give data.split "
                    "a validation part"
                )
            loss = left.best[1]
        elif job.outcome == PRUNED:
            state = TrialState.PRUNED
        elif job.code == DivergedError.exit_code:
            state = TrialState.FAIL
        else:
            return
        with _damage_explained(self._folder):
            self._study.tell(int(job.name), loss, state, skip_if_finished=True)

    def _job(self, number: int, params: dict[str, Any]) -> Job:
        values = {key: params[key] for key in self._space.domains}
        words = [f"{key}={value}" for key, value in values.items()]
        line = [*words, *self._space.words]
        job = Job.numbered(self._folder, number, self._compose(line), line, " ".join(words))
        job.environment = {TRIAL: str(number)} if self._prune else {}
        return job

    def _check_asked(self) -> None:
        """Raise ConfigError where the search in the folder was asked for something else."""
        asked = dict(word.partition("=")[::2] for word in self._space.words)
        asked = {key: value for key, value in asked.items() if key not in _NOT_ASKED}
        asked |= {key: repr(domain) for key, domain in self._space.domains.items()}
        before = self._study.user_attrs.get(_ASKED)
        if before is None:
            self._study.set_user_attr(_ASKED, asked)
        elif before != asked:
            keys = {key for key in {*asked, *before} if asked.get(key) != before.get(key)}
            raise ConfigError(
                f"run_dir={self._folder}: the search in it was begun with another "
                f"{', '.join(sorted(keys))}: give the same, or another run_dir"
            )


class Pruning:
    """Follows a training that is a trial of a search, in its process; all else it leaves alone."""

    def __init__(self, run_dir: Path, notice: Callable[[str], None]) -> None:
        """The trial that the environment names; `notice` hears of what fails, and ends nothing."""
        self.due = False
        """Whether the training is worse than the median of the others."""
        self._folder = run_dir.parent
        self._notice = notice
        self._number = os.environ.get(TRIAL)
        self._trial: Trial | None = None

    def __call__(self, event: Event) -> None:
        """Tell the search of a validation, and ask whether to go on."""
        if self._number is None or not isinstance(event, Validated):
            return
        try:
            self._trial = self._trial or self._found(int(self._number))
            known = self._trial.study.get_trials(deepcopy=False)[self._trial.number]
            if event.step not in known.intermediate_values:  # of a run that went on from before
                self._trial.report(event.loss, event.step)
            self.due = self._trial.should_prune()
        except Exception as error:
            self._number = None
            self._notice(f"the search hears nothing of this run: {error}")

    def _found(self, number: int) -> "Trial":
        from optuna.trial import Trial

        study = _load_study(self._folder)
        return Trial(study, study.get_trials(deepcopy=False)[number]._trial_id)


@contextlib.contextmanager
def _damage_explained(folder: Path) -> Iterator[None]:
    """A study may be damaged. Raises ConfigError."""
    try:
        yield
    except (ValueError, KeyError) as error:
        raise ConfigError(
            f"{folder / SEARCH}: damaged: remove it to search anew, or give another run_dir"
        ) from error


def _load_study(folder: Path) -> "Study":
    """The study in a sweep's folder, which is made if it is not there."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner()
    file = str(folder / SEARCH)
    # Optuna's usual lock is a link. That of a process that was killed leads nowhere if the path is
    # relative, and would be waited for without end.
    lock = JournalFileOpenLock(file, grace_period=_LOCKED)
    storage = JournalStorage(JournalFileBackend(file, lock))
    return optuna.create_study(
        storage=storage, study_name=_NAME, pruner=pruner, load_if_exists=True
    )


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


def _distribution(domain: Domain) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(domain, Choices):
        return CategoricalDistribution(domain.values)
    low, high = domain.low, domain.high
    if isinstance(low, int) and isinstance(high, int):
        return IntDistribution(low, high, log=domain.log, step=int(domain.step or 1))
    return FloatDistribution(low, high, log=domain.log, step=domain.step)
