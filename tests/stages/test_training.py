"""What no training can do is refused before anything is learnt."""

from pathlib import Path
from typing import Any

import pytest

from seqkit.data import etude
from seqkit.stages import training
from tests.conftest import Run


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    ("code", "said", "words"),
    [
        (2, "no window may cut", ["train.sequence_length=127", "data.channels=2"]),
        (
            2,
            "one document, or the beginning of one, and ends nowhere",
            ["model.ends=true", "train.jump_after=0"],
        ),
        (5, "not enough memory", ["model.hidden_size=200000"]),
    ],
)
def test_a_training_of_sound_is_refused_before_its_recording_is_measured(
    code: int, said: str, words: list[str], run: Run, tmp_path: Path, monkeypatch: Any
) -> None:
    def unexpected(*given: object) -> None:
        raise AssertionError("the recording is measured")

    monkeypatch.setattr(training, "recording_to_keep", unexpected)
    etude.write(tmp_path / "a.wav", etude.render(etude.compose(32), 8000), 8000)
    words += ["recipe=my_sound", f"data.path={tmp_path / 'a.wav'}", "device=cpu"]
    assert said in run.fails(code, *words, f"run_dir={tmp_path / 'run'}")
    assert not (tmp_path / "run").exists()
