"""A training that ends at once says what is left of it."""

import shutil
from pathlib import Path

import pytest

from seqkit.api.begin import advice
from seqkit.api.prepare_training import opened
from seqkit.api.run_training import run_training
from seqkit.api.training_config import compose_training
from seqkit.compose import compose
from seqkit.foundation.errors import StoppedError
from tests.conftest import TINY


@pytest.mark.parametrize(
    ("words", "forced"),
    [
        (("resume=force", "optimizer.lr=0.5"), True),
        (("resume=force",), False),  # the state that is there agrees
        (("resume=auto",), False),
    ],
)
def test_settings_are_forced_where_they_differ(
    words: tuple[str, ...], forced: bool, trained: Path, tmp_path: Path
) -> None:
    shutil.copytree(trained, tmp_path / "run")
    given = [f"run_dir={tmp_path / 'run'}", *words, "train.max_steps=9999"]
    composed = compose_training(given, [])
    with opened(*composed, lambda text: None) as training:
        assert training
        assert training.forced is forced


def test_the_run_that_a_training_is_to_replace_is_not_taken_for_its_own(
    trained: Path, text_file: Path, tmp_path: Path
) -> None:
    shutil.copytree(trained, tmp_path / "run")
    words = (*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'run'}", "overwrite=true")
    with opened(*compose([*words], []), lambda text: None) as training:
        assert training
        assert advice(training) == "It had not begun; the same command begins it"
        with pytest.raises(StoppedError):
            run_training(training, [], lambda text: None, stop=lambda: "SIGTERM")
        assert advice(training).startswith("The run's last checkpoint is whole. To go on: ")
