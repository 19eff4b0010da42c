"""Data sets in the format of Hugging Face: trained on and evaluated as files are."""

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import SENTENCE, TINY, Run, weights
from tests.data.hf_store import COLUMN, store

ROWS = [SENTENCE * (1 + number % 3) for number in range(30)]


@pytest.fixture
def words(tmp_path: Path) -> tuple[str, ...]:
    """What names the data set."""
    return (
        "data.kind=hf",
        f"data.path={store(tmp_path / 'set', ROWS)}",
        f"data.column={COLUMN}",
    )


@pytest.mark.thorough
def test_rows_learn_what_as_many_files_learn(
    run: Run, words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "files").mkdir()
    for number, row in enumerate(ROWS):
        (tmp_path / "files" / f"{number:02}.txt").write_text(row)
    for name, data in (("files", (f"data.path={tmp_path / 'files'}",)), ("rows", words)):
        run.ok(*TINY, *data, "train.max_steps=4", f"run_dir={tmp_path / name}run")
    expected, found = weights(tmp_path / "filesrun"), weights(tmp_path / "rowsrun")
    assert all(np.array_equal(found[key], values) for key, values in expected.items())
