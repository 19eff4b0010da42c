"""The command that a run's page advises works, also where files of the run are damaged."""

import shlex
import shutil
from pathlib import Path

import pytest

from seqkit.report.next_command import again, go_on
from seqkit.report.verdict import judge
from seqkit.runs.checkpoint import peek
from seqkit.runs.layout import RunFiles
from seqkit.runs.record import read
from tests.conftest import SMALL, Run

GIVEN = (*SMALL, "optimizer.lr=0.02")
"""Keys of the run `trained`."""


@pytest.fixture
def stopped(trained: Path, tmp_path: Path) -> RunFiles:
    """A copy of a run that has no summary, as after a kill."""
    files = RunFiles(tmp_path / "run")
    shutil.copytree(trained, files.path)
    files.summary.unlink()
    return files


def damage(files: RunFiles, *names: str) -> None:
    for name in names:
        content = files.checkpoint(name).read_bytes()
        files.checkpoint(name).write_bytes(content[: len(content) // 2])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("config", "damaged", "said"),
    [
        (True, [], "This goes on with it:"),
        (True, ["last"], "This goes on with it:"),
        (True, ["last", "previous"], "with the weights of best.safetensors:"),
        (False, [], "if you add the keys that you gave beside its recipe:"),
        (
            *(False, ["last", "previous"]),
            "config.yaml cannot be read. This begins a new run with the weights of best",
        ),
        (True, ["last", "previous", "best"], "nothing is left of its weights. This trains anew:"),
    ],
)
def test_the_command_works(
    config: bool, damaged: list[str], said: str, stopped: RunFiles, run: Run
) -> None:
    if not config:
        stopped.config.write_text("{")
    damage(stopped, *damaged)
    verdict = judge(read(stopped.path))
    assert said in verdict.advice
    words = shlex.split(verdict.command)[3:]
    given = GIVEN if "the keys that you gave" in said else ()
    done = run(*words, *given, "device=cpu", "length=5", "train.max_steps=151")
    assert done.code == 0, done.err
    assert bool(given) == ("going on at step 150" in done.err and not config)


def test_without_its_settings_a_run_still_goes_on_from_a_whole_checkpoint(
    stopped: RunFiles,
) -> None:
    stopped.config.write_text("{")
    damage(stopped, "last")
    verdict = judge(read(stopped.path))
    assert "Its config.yaml cannot be read; this goes on with it, if you add" in verdict.advice
    again = f"python -m seqkit recipe=shakespeare run_dir={stopped.path} resume=auto"
    assert verdict.command == again
    stopped.summary.write_text('{"steps": 150}')
    assert "init_from=" in go_on(read(stopped.path))[1]  # nothing is left to do but to do more


def test_nothing_is_advised_that_nothing_is_left_for(stopped: RunFiles) -> None:
    stopped.config.write_text("{")
    damage(stopped, "last", "previous", "best")
    verdict = judge(read(stopped.path))
    assert verdict.command == ""
    assert verdict.advice.endswith("nothing is left of its weights: train anew.")


@pytest.mark.parametrize("place", [".", "../run", "samples/.."])
def test_another_run_is_put_beside_this_one_from_within_it(
    place: str, stopped: RunFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(stopped.path)
    (given,) = [word for word in shlex.split(again(read(Path(place)))) if "run_dir=" in word]
    beside = Path(given.partition("=")[2]).resolve()
    assert beside == stopped.path.with_name("run_again").resolve()


def test_a_checkpoint_is_known_by_its_header_and_its_length(
    stopped: RunFiles, tmp_path: Path
) -> None:
    header = peek(stopped.checkpoint("last"))
    assert header is not None
    assert header["config"]["recipe"] == "shakespeare"
    assert header["training"]
    damage(stopped, "last")
    (tmp_path / "text").write_text("no checkpoint, " * 100)
    for place in (stopped.checkpoint("last"), tmp_path / "text", tmp_path / "none", tmp_path):
        assert peek(place) is None
