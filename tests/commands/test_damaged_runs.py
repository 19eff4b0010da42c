"""Runs of which something is damaged or gone: gone on with as far as it can be, or refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import torch

from seqkit.foundation.plugins import Catalogue
from seqkit.runs.checkpoint import load as read_checkpoint
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
    assert [*(tmp_path / "a" / "checkpoints").glob("last.damaged_*")]


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


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_a_best_that_is_lost_is_made_anew(
    how: str, run: Run, text_file: Path, tmp_path: Path
) -> None:
    folder = f"run_dir={tmp_path / 'a'}"
    words = [*TINY, f"data.path={text_file}", folder, "train.validate_every=1", "train.average=0"]
    assert run(*words, "train.max_steps=4").code == 0
    best = tmp_path / "a" / "checkpoints" / "best.safetensors"
    content = best.read_bytes()
    best.unlink() if how == "missing" else best.write_bytes(content[:-1])
    more = run(folder, "resume=auto", "train.max_steps=5")
    assert more.code == 0, more.err
    assert f"{best} is missing or damaged: the next validation chooses it anew\n" in more.err
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


@pytest.mark.parametrize("left", ["last", "checkpoints"])
def test_checkpoints_alone_are_a_run(left: str, run: Run, text_file: Path, tmp_path: Path) -> None:
    arguments = [*TINY, f"data.path={text_file}", "train.validate_every=2"]
    whole, copied = tmp_path / "whole", tmp_path / "copied"
    assert run(*arguments, f"run_dir={whole}", "train.max_steps=4").code == 0
    shutil.copytree(whole / "checkpoints", copied / "checkpoints")
    if left == "last":
        for name in ("best", "previous"):
            (copied / "checkpoints" / f"{name}.safetensors").unlink()
    refused = run(*arguments, f"run_dir={copied}")
    assert (refused.code, "holds a run: resume=auto goes on with it" in refused.err) == (6, True)
    more = ("resume=auto", "train.max_steps=6")
    for folder in (whole, copied):
        done = run(f"run_dir={folder}", *more)
        assert done.code == 0, done.err
        assert "going on at step 4" in done.err
    assert same(whole, copied)


def test_a_run_whose_states_are_lost_names_its_best(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "a"
    shutil.copytree(trained, folder)
    best = folder / "checkpoints" / "best.safetensors"
    content = best.read_bytes()
    for name in ("last", "previous"):
        (folder / "checkpoints" / f"{name}.safetensors").unlink(missing_ok=True)
    refused = run(f"run_dir={folder}", "resume=auto")
    assert (refused.code, refused.err.count("\n")) == (4, 1), refused.err
    assert f"with another run_dir, init_from={best} begins with its best weights" in refused.err
    assert best.read_bytes() == content
    best.write_bytes(content[:-1])
    refused = run(f"run_dir={folder}", "resume=auto")
    assert (refused.code, "train anew" in refused.err) == (4, True), refused.err
    assert "init_from" not in refused.err
