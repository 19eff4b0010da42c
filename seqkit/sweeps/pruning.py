"""What a job's own process does for the search that it is a trial of.

It reports each validation, and may be ended.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from seqkit.runs.events import Event
from seqkit.sweeps.jobs import PRUNES, TRIAL
from seqkit.sweeps.study import failures, opened
from seqkit.training.events import Validated

if TYPE_CHECKING:
    from optuna.trial import Trial


class Pruning:
    """Follows a training that is a trial of a search; all else it leaves alone."""

    def __init__(self, run_dir: Path, notice: Callable[[str], None]) -> None:
        """The trial that the environment names; `notice` hears of what fails, and ends nothing."""
        self.due = False
        """Whether the training is worse than the median of the others."""
        self._folder = run_dir.parent
        self._notice = notice
        number = os.environ.get(TRIAL, "")
        self._number = number if number.isdecimal() else ""
        self._prunes = PRUNES in os.environ
        self._trial: Trial | None = None

    def __call__(self, event: Event) -> None:
        """Tell the search of a validation, and ask whether to go on."""
        if not (self._number and self._prunes and isinstance(event, Validated)):
            return
        try:
            self.due = self._is_due(event)
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._number = ""
        self._notice(f"the search hears nothing of this run: {error}")

    def _is_due(self, event: Validated) -> bool:
        with failures(self._folder):
            if self._trial is None:
                self._trial = self._find()
            known = self._trial.study.get_trials(deepcopy=False)[self._trial.number]
            if event.step not in known.intermediate_values:  # of a run that went on from before
                self._trial.report(event.loss, event.step)
            return self._trial.should_prune()

    def _find(self) -> "Trial":
        from optuna.trial import Trial

        study = opened(self._folder, new=False)
        found = study.get_trials(deepcopy=False)[int(self._number)]
        return Trial(study, found._trial_id)
