"""Ready-made models are named as paths are, and a path comes first."""

import contextlib
from pathlib import Path

import pytest

from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import CheckpointError
from seqkit.foundation.run_folders import READY_MADE
from seqkit.runs import checkpoint
from seqkit.runs.named_checkpoint import absolute, located, ready_made
from tests.conftest import TINY, Run, saved
from tests.test_docs import ROOT


def test_both_models_are_there_and_small() -> None:
    assert ready_made() == ["etude", "shakespeare"]
    files = [located(name) for name in ready_made()]
    assert {file.parent for file in files} == {READY_MADE}
    assert sum(file.stat().st_size for file in files) < 3_000_000
    told = (READY_MADE / "README.md").read_text()
    assert all(checkpoint.load(file, Catalogue()).digest in told for file in files)


def test_a_path_comes_before_a_model_of_that_name(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        assert absolute("etude") == "etude"
        Path("etude").write_text("a file")
        assert located("etude") == Path("etude")
        assert absolute("etude") == str(tmp_path / "etude")
        Path("shakespeare").mkdir()  # of data, or of anything else
        assert located("shakespeare").parent == READY_MADE


def test_a_mistyped_name_gets_a_hint(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path), pytest.raises(CheckpointError, match="did you mean shakes"):
        located("shakespear")


@pytest.mark.parametrize("key", ["checkpoint", "init_from"])
def test_nothing_is_fetched(key: str, run: Run, tiny: list[str]) -> None:
    words = tiny if key == "init_from" else ["generate"]
    assert "no such checkpoint" in run.fails_in_a_line(4, *words, f"{key}=hf://ann/rain")


def test_verse_and_sound_come_without_a_training(run: Run, tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        verse = run.ok("generate", "checkpoint=shakespeare", "seed=1", "length=400", "device=cpu")
        assert len(verse.out.decode()) >= 400
        assert len({*verse.out.decode().split()} & {"the", "and", "to", "of", "you", "my"}) > 3
        sound = run.ok("generate", "checkpoint=etude", "seconds=0.2", "device=cpu")
        assert sound.out.decode().strip() == "generated_1.wav"
        assert Path("generated_1.wav").is_file()


def test_a_training_starts_from_a_ready_made_model(run: Run, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("To be, or not to be: that is the question.\n" * 40)
    words = [*TINY, "data.path=text.txt", "run_dir=run", "train.max_steps=1", "resume=auto"]
    with contextlib.chdir(tmp_path):
        run.ok(*words, "init_from=shakespeare")
        assert saved(Path("run")).config["init_from"] == "shakespeare"
        assert "this run is finished" in run.ok(*words, "init_from=shakespeare").err
        Path("shakespeare").write_text("something else")
        assert "this run is finished" in run.ok(*words, "init_from=shakespeare").err


def test_inspect_names_the_digest(run: Run) -> None:
    shown = run("inspect", "checkpoint=etude").out.decode()
    (digest,) = [line.split()[1] for line in shown.splitlines() if line.startswith("digest")]
    assert digest.strip("'") in (READY_MADE / "README.md").read_text()
    assert str(ROOT) not in shown
