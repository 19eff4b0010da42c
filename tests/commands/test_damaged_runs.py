"""Runs of which something is damaged or gone: gone on with as far as it can be, or refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from tests.conftest import TINY, Run, same

pytestmark = pytest.mark.faults


def test_a_damaged_last_checkpoint_is_resumed_over_at_the_first_try(
    run: Run, tiny: list[str], tmp_path: Path
) -> None:
    arguments = [*tiny, "resume=auto"]
    run.ok(*arguments, "train.max_steps=8", "train.validate_every=2")
    (tmp_path / "a" / "summary.json").unlink()
    last = tmp_path / "a" / "checkpoints" / "last.safetensors"
    last.write_bytes(last.read_bytes()[:-3])
    best = last.with_stem("best").read_bytes()
    again = run.ok(*arguments, "train.max_steps=8", "train.validate_every=2")
    assert "going on from previous.safetensors" in again.err
    assert [*last.parent.glob("last.damaged_*")]
    (kept,) = last.parent.glob("best.step_*")
    assert str(kept) in again.err and kept.read_bytes() == best
    last.unlink()
    again = run.ok(*arguments, "train.max_steps=9", "train.validate_every=2")
    assert "last.safetensors is gone; going on from previous.safetensors" in again.err
    shutil.rmtree(last.parent)
    assert "its checkpoints are gone" in run.fails(4, "doctor", f"run_dir={tmp_path / 'a'}")


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
    refused = run.fails_in_a_line(6, *TINY, f"data.path={text_file}", f"run_dir={folder}", more)
    assert "this folder holds other things (checkpoints, config.yaml, log and" in refused
    assert {file: file.read_bytes() for file in folder.rglob("*.*")} == before


def test_damaged_metrics_are_cut_back(run: Run, tiny: list[str], tmp_path: Path) -> None:
    run.ok(*tiny, "train.max_steps=3")
    file = tmp_path / "a" / "metrics.jsonl"
    first, *rest = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([first, b'{"step": "\n', b"[" * 100_000 + b"\n", *rest, b"\xff\xfe"]))
    (tmp_path / "a" / "summary.json").write_text('{"steps": Infinity}')
    run.ok(*tiny, "train.max_steps=5", "resume=auto")
    lines = file.read_bytes().splitlines(keepends=True)
    assert lines[: 1 + len(rest)] == [first, *rest]
    assert json.loads(lines[-1])["step"] == 5


@pytest.mark.parametrize("left", ["last", "checkpoints"])
def test_checkpoints_alone_are_a_run(left: str, run: Run, text_file: Path, tmp_path: Path) -> None:
    arguments = [*TINY, f"data.path={text_file}", "train.validate_every=2"]
    whole, copied = tmp_path / "whole", tmp_path / "copied"
    run.ok(*arguments, f"run_dir={whole}", "train.max_steps=4")
    shutil.copytree(whole / "checkpoints", copied / "checkpoints")
    if left == "last":
        for name in ("best", "previous"):
            (copied / "checkpoints" / f"{name}.safetensors").unlink()
    assert "holds a run: resume=auto goes on with it" in run.fails(
        6, *arguments, f"run_dir={copied}"
    )
    more = ("resume=auto", "train.max_steps=6")
    for folder in (whole, copied):
        assert "going on at step 4" in run.ok(f"run_dir={folder}", *more).err
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
    refused = run.fails_in_a_line(4, f"run_dir={folder}", "resume=auto")
    assert f"with another run_dir, init_from={best} begins with its best weights" in refused
    assert best.read_bytes() == content
    best.write_bytes(content[:-1])
    refused = run.fails(4, f"run_dir={folder}", "resume=auto")
    assert "train anew" in refused
    assert "init_from" not in refused
