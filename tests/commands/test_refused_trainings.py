"""Trainings that cannot begin, or diverge, end in a line with their exit code."""

import re
from pathlib import Path

import numpy as np

from tests.conftest import TINY, Run, weights


def test_a_folder_that_holds_a_run_is_not_overwritten(
    run: Run, tiny: list[str], tmp_path: Path
) -> None:
    arguments = [*tiny, "train.max_steps=4"]
    run.ok(*arguments)
    before = weights(tmp_path / "a")["head.weight"]
    assert "resume=auto" in run.fails(6, *arguments, "seed=5")
    assert np.array_equal(weights(tmp_path / "a")["head.weight"], before)
    run.ok(*arguments, "seed=5", "overwrite=true")
    assert not np.array_equal(weights(tmp_path / "a")["head.weight"], before)


def test_bad_data_exits_with_3_and_leaves_no_run(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "short.txt").write_text("abcdefgh" * 2)
    (tmp_path / "binary.txt").write_bytes(b"abc\xff" * 100)
    for name, said in [
        ("none.txt", "no such file"),
        ("empty.txt", "empty"),
        ("short.txt", "give at least "),
        ("binary.txt", "byte 3 (0xff) is not utf-8"),
    ]:
        result = run(*TINY, f"data.path={tmp_path / name}", f"run_dir={tmp_path / 'a'}")
        assert result.code == 3, name
        assert said in result.err
        assert not (tmp_path / "a").exists()


def test_a_divergence_exits_with_7(run: Run, tiny: list[str]) -> None:
    wild = ("optimizer.lr=1e38", "train.clip_norm=0", "train.max_steps=50")
    result = run.fails(7, *tiny, *wild)
    assert "optimizer.lr" in result
    found = re.search(r"at step (\d+): the training diverged", result)
    assert found
    assert int(found[1]) <= 10


def test_a_checkpoint_is_not_passed_over_by_a_training(run: Run, tmp_path: Path) -> None:
    result = run.fails(2, *TINY, "checkpoint=my run", f"run_dir={tmp_path / 'a'}")
    assert "checkpoint=my run: train does not read it: did you mean 'init_from=my run'," in result
    assert "run_dir=RUN resume=auto goes on with a run\n" in result
    assert not (tmp_path / "a").exists()
