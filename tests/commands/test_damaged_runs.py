"""Runs of which something is damaged or gone: gone on with as far as it can be, or refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import torch

from seqkit.foundation.errors import OutputError
from seqkit.foundation.plugins import Catalogue
from seqkit.runs.checkpoint import load as read_checkpoint
from seqkit.runs.folder import RunFolder
from tests.conftest import TINY, Run, same, weights

pytestmark = pytest.mark.faults


def test_a_damaged_last_checkpoint_is_resumed_over_at_the_first_try(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    arguments = [*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'a'}", "resume=auto"]
    first = run(*arguments, "train.max_steps=8", "train.validate_every=2")
    assert first.code == 0, first.err
    (tmp_path / "a" / "summary.json").unlink()
    last = tmp_path / "a" / "checkpoints" / "last.safetensors"
    last.write_bytes(last.read_bytes()[:-3])
    again = run(*arguments, "train.max_steps=8", "train.validate_every=2")
    assert again.code == 0, again.err
    assert "going on from previous.safetensors" in again.err
    assert (tmp_path / "a" / "checkpoints" / "last.damaged").exists()


def test_a_finished_run_whose_end_is_lost_is_trained_to_it_again(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    arguments = [
        *(*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'a'}", "resume=auto"),
        *("train.max_steps=9", "train.checkpoint_every=4"),
    ]
    assert run(*arguments).code == 0
    expected = weights(tmp_path / "a")
    (tmp_path / "a" / "checkpoints" / "last.safetensors").unlink()
    again = run(*arguments)
    assert again.code == 0, again.err
    assert "going on at step 8" in again.err
    assert all(
        torch.equal(values, expected[name]) for name, values in weights(tmp_path / "a").items()
    )
    assert "is finished, at step 9" in run(*arguments).err


def test_checkpoints_without_their_run_are_not_replaced_unasked(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    arguments = [*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'a'}", "train.max_steps=3"]
    assert run(*arguments).code == 0
    (tmp_path / "a" / "config.yaml").unlink()
    checkpoints = tmp_path / "a" / "checkpoints"
    best = (checkpoints / "best.safetensors").read_bytes()
    refused = run(*arguments, "seed=5")
    assert refused.code == 6
    assert "holds checkpoints, but no config.yaml" in refused.err
    other = run(*arguments, "seed=5", "resume=auto")
    assert (other.code, "differs from the run in" in other.err) == (2, True)
    for name in ("last", "previous"):
        (checkpoints / f"{name}.safetensors").unlink(missing_ok=True)
    for resume in ("never", "auto", "force"):
        refused = run(*arguments, f"resume={resume}")
        assert (refused.code, refused.err.count("\n")) == (6, 1)
        assert f"nothing to go on from: give another run_dir, and init_from={tmp_path / 'a'}" in (
            refused.err
        )
    alone = run(f"run_dir={tmp_path / 'a'}", "resume=auto")
    assert (alone.code, "it holds weights, but nothing to go on from" in alone.err) == (2, True)
    assert [file.name for file in checkpoints.iterdir()] == ["best.safetensors"]
    assert (checkpoints / "best.safetensors").read_bytes() == best
    assert run(*arguments, "seed=5", "overwrite=true").code == 0


def test_checkpoints_that_were_copied_alone_are_gone_on_with(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    arguments = [*TINY, f"data.path={text_file}", "train.validate_every=2"]
    whole, copied = tmp_path / "whole", tmp_path / "copied"
    assert run(*arguments, f"run_dir={whole}", "train.max_steps=4").code == 0
    shutil.copytree(whole / "checkpoints", copied / "checkpoints")
    assert run(*arguments, f"run_dir={whole}", "resume=auto", "train.max_steps=6").code == 0
    alone = run(f"run_dir={copied}", "resume=auto", "train.max_steps=6")
    assert (alone.code, alone.err.count("\n")) == (2, 1)
    assert "holds checkpoints, but no config.yaml of their run. To go on, give the" in alone.err
    more = run(*arguments, f"run_dir={copied}", "resume=auto", "train.max_steps=6")
    assert more.code == 0, more.err
    assert "going on at step 4" in more.err
    assert same(whole, copied)
    assert run(f"run_dir={copied}", "resume=auto").code == 0


@pytest.mark.parametrize("lost", ["checkpoints", "last and previous"])
def test_a_run_without_a_checkpoint_to_go_on_from_starts_again(
    lost: str, run: Run, text_file: Path, tmp_path: Path
) -> None:
    arguments = [*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'a'}", "train.max_steps=3"]
    assert run(*arguments).code == 0
    if lost == "checkpoints":
        shutil.rmtree(tmp_path / "a" / "checkpoints")
    else:
        (tmp_path / "a" / "checkpoints" / "last.safetensors").unlink()
        (tmp_path / "a" / "checkpoints" / "previous.safetensors").unlink(missing_ok=True)
    left = contents(tmp_path / "a")
    again = run(*arguments, "resume=auto")
    assert again.code == 0, again.err
    kept = tmp_path / "a" / "earlier_1"
    assert f"the run starts again, and what is left of it is kept in {kept}\n" in again.err
    assert contents(kept) == left
    assert weights(tmp_path / "a")
    assert run("report", f"run_dir={kept}").code == 0


def contents(folder: Path) -> dict[Path, bytes]:
    """All files in a folder that are not hidden."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name[0] != "."]
    return {file.relative_to(folder): file.read_bytes() for file in files}


def test_a_run_that_saved_nothing_starts_again_in_its_place(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    arguments = [*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'a'}", "train.max_steps=3"]
    assert run(*arguments).code == 0
    shutil.rmtree(tmp_path / "a" / "checkpoints")
    (tmp_path / "a" / "summary.json").unlink()  # as after a kill before the first save
    again = run(*arguments, "resume=auto")
    assert (again.code, again.err.count("the run starts again\n")) == (0, 1)
    assert not (tmp_path / "a" / "earlier_1").exists()


@pytest.mark.parametrize("resume", ["never", "auto"])
@pytest.mark.parametrize(
    "names", [["metrics.jsonl", "summary.json"], ["samples/final.wav"], ["config.yaml"]]
)
def test_a_folder_without_a_runs_config_and_checkpoints_is_somebodys(
    names: list[str], resume: str, run: Run, text_file: Path, tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / "a" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "a" / name).write_text("epochs: 3\n")
    refused = run(
        *(*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'a'}", "train.max_steps=1"),
        *(f"resume={resume}", "overwrite=true"),
    )
    assert (refused.code, refused.err.count("\n")) == (6, 1)
    shown = names[0].partition("/")[0]
    assert f"this folder holds other things ({shown}" in refused.err
    assert {(tmp_path / "a" / name).read_text() for name in names} == {"epochs: 3\n"}


@pytest.mark.parametrize("name", ["best", "last"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_checkpoints_of_another_program_make_no_run(
    name: str, overwrite: bool, run: Run, text_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "a"
    (folder / "checkpoints").mkdir(parents=True)
    weights = {"w": np.zeros(3, np.float32)}
    safetensors.numpy.save_file(weights, folder / "checkpoints" / f"{name}.safetensors")
    for other in ("config.yaml", "metrics.jsonl", "log", "report.html"):
        (folder / other).write_text("epochs: 3\n")
    before = {file: file.read_bytes() for file in folder.rglob("*.*")}
    more = "overwrite=true" if overwrite else "resume=auto"
    refused = run(*TINY, f"data.path={text_file}", f"run_dir={folder}", more)
    assert (refused.code, refused.err.count("\n")) == (6, 1), refused.err
    assert "this folder holds other things (checkpoints, config.yaml, log and" in refused.err
    assert {file: file.read_bytes() for file in folder.rglob("*.*")} == before


@pytest.mark.parametrize("text", ["{}\n", "seed: 3\n", "data:\n  path: [x]\n", "", "a: [\n"])
def test_a_config_of_another_program_makes_no_run(text: str, tmp_path: Path) -> None:
    for name in ("config.yaml", "log"):
        (tmp_path / name).write_text(text)
    folder = RunFolder(tmp_path)
    assert (folder.holds_run, folder.is_used) == (False, False)
    with pytest.raises(OutputError, match=r"holds other things \(config.yaml, log\)"):
        folder.check_no_others()


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("how", ["missing", "damaged"])
@pytest.mark.parametrize("at_best", [True, False])
def test_a_best_that_is_lost_is_made_anew(
    how: str, at_best: bool, run: Run, text_file: Path, tmp_path: Path
) -> None:
    folder, rate = f"run_dir={tmp_path / 'a'}", 0.01 if at_best else 9
    words = [*TINY, f"data.path={text_file}", folder, "train.validate_every=1", "train.average=0"]
    assert run(*words, "train.max_steps=4", f"optimizer.lr={rate}").code == 0
    summary = json.loads((tmp_path / "a" / "summary.json").read_text())
    assert (summary["best_step"] == 4) == at_best
    best = tmp_path / "a" / "checkpoints" / "best.safetensors"
    content = best.read_bytes()
    best.unlink() if how == "missing" else best.write_bytes(content[:-1] + b"x")
    more = run(folder, "resume=auto", "train.max_steps=5")
    assert more.code == 0, more.err
    said = "it is saved anew" if at_best else "the next validation chooses it anew"
    assert f"{best} is missing, damaged or an old one: {said}\n" in more.err
    found = read_checkpoint(best, Catalogue()).metrics
    summary = json.loads((tmp_path / "a" / "summary.json").read_text())
    assert found["best_step"] == summary["best_step"] == found["step"]


def test_damaged_metrics_are_cut_back(run: Run, text_file: Path, tmp_path: Path) -> None:
    arguments = [*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'a'}"]
    assert run(*arguments, "train.max_steps=3").code == 0
    file = tmp_path / "a" / "metrics.jsonl"
    first, *rest = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([first, b'{"step": "\n', b"[" * 100_000 + b"\n", *rest, b"\xff\xfe"]))
    (tmp_path / "a" / "summary.json").write_text('{"steps": Infinity}')
    again = run(*arguments, "train.max_steps=5", "resume=auto")
    assert again.code == 0, again.err
    assert f"{file}: 2 damaged lines left out\n" in again.err
    lines = file.read_bytes().splitlines(keepends=True)
    assert lines[: 1 + len(rest)] == [first, *rest]
    assert json.loads(lines[-1])["step"] == 5


def test_a_checkpoint_without_a_training_state_is_passed_over(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    arguments = [
        *(*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'a'}"),
        *("train.max_steps=6", "train.checkpoint_every=2"),
    ]
    assert run(*arguments).code == 0
    checkpoints = tmp_path / "a" / "checkpoints"
    (checkpoints / "last.safetensors").write_bytes((checkpoints / "best.safetensors").read_bytes())
    again = run(*arguments, "resume=auto")
    assert again.code == 0, again.err
    assert "it holds no training state; going on from previous.safetensors" in again.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x00\xff", "not UTF-8"),
        (b"recipe: shakespeare\nmodel: [", "line 2: not valid YAML"),
        (b"recipe: shakespeare\nshell: rm", "unknown key shell"),
        (b"recipe: !!python/object/apply:os.system [touch owned]", "not valid YAML"),
        (b"seed: 1", "no recipe"),
        (b"#" * (1 << 20) + b"\n", "larger than any config"),
    ],
)
def test_a_damaged_config_is_refused_in_a_line(
    content: bytes, said: str, run: Run, trained: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained, tmp_path / "a")
    (tmp_path / "a" / "config.yaml").write_bytes(content)
    refused = run("run_dir=a", "resume=auto")
    assert refused.code == 2, refused.err
    assert said in refused.err
    assert refused.err.endswith("recipe and keys again, beside run_dir=a resume=auto\n")
    assert refused.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("missing", [False, True])
def test_a_run_whose_config_is_lost_goes_on_with_its_keys(
    missing: bool, run: Run, text_file: Path, tmp_path: Path
) -> None:
    arguments = [*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'a'}", "resume=auto"]
    assert run(*arguments, "train.max_steps=3").code == 0
    config = tmp_path / "a" / "config.yaml"
    config.unlink() if missing else config.write_bytes(b"")
    refused = run(*arguments[-2:])
    assert refused.code == 2
    assert "give the run's recipe and keys again" in refused.err
    assert "is finished, at step 3" in run(*arguments, "train.max_steps=3").err
    again = run(*arguments, "train.max_steps=5")
    assert again.code == 0, again.err
    assert "going on at step 3" in again.err
    assert run(*arguments[-2:]).code == 0
