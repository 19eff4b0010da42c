"""`generate loop=true` as a user runs it."""

from pathlib import Path

import pytest

from seqkit.cli import main
from seqkit.data import etude
from tests.conftest import Run

FEW = ("train.max_minutes=0", "train.max_steps=2", "train.sequence_length=64", "seconds=0.5")


@pytest.fixture(scope="module")
def looping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that learnt an étude in frames."""
    folder = tmp_path_factory.mktemp("loop")
    etude.write(folder / "a.wav", etude.render(etude.compose(16), 4000), 4000)
    words = ("recipe=my_sound", f"data.path={folder / 'a.wav'}", "model.hidden_size=8", *FEW)
    assert main([*words, f"run_dir={folder / 'run'}", "device=cpu"]) == 0
    return folder / "run"


def test_the_best_loop_of_some_takes(looping: Path, run: Run, tmp_path: Path) -> None:
    words = ["generate", f"checkpoint={looping}", "seconds=0.5", "seed=1", "loop=true"]
    many = run.ok(*words, "streams=3", f"out={tmp_path / 'many.wav'}").err
    assert "stream 3 " in many
    told = run.ok(*words, "takes=3", f"out={tmp_path / 'best.wav'}").err
    number = told.partition("take ")[2][0]
    best = (tmp_path / "best.wav").read_bytes()
    assert best == (tmp_path / f"many_{number}.wav").read_bytes()
    assert run.ok(*words, "takes=3", "out=-").out[44:] == best[44:]


def test_what_is_no_loop_is_refused(looping: Path, trained: Path, run: Run) -> None:
    for model, words, said in (
        (trained, "length=9", "only a model of data.codec=spectral"),
        (looping, "out=a.mp3", "sound is written as .wav"),
    ):
        told = run.fails_in_a_line(2, "generate", f"checkpoint={model}", "loop=true", words)
        assert said in told
