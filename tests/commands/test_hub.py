"""Data sets in the format of Hugging Face: prepared, trained on and evaluated as files are."""

from pathlib import Path

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


def test_rows_learn_what_as_many_files_learn(
    run: Run, words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "files").mkdir()
    for number, row in enumerate(ROWS):
        (tmp_path / "files" / f"{number:02}.txt").write_text(row)
    shards = tmp_path / "shards"
    prepared = run("prepare", *words, f"out={shards}")
    assert prepared.code == 0, prepared.err
    assert "of 30 documents in 1 shard" in prepared.err
    for name, data in (
        ("files", (f"data.path={tmp_path / 'files'}",)),
        ("rows", words),
        ("shards", (f"data.path={shards}",)),
    ):
        done = run(*TINY, *data, "train.max_steps=4", f"run_dir={tmp_path / name}run")
        assert done.code == 0, done.err
    expected = weights(tmp_path / "filesrun")
    for name in ("rows", "shards"):
        found = weights(tmp_path / f"{name}run")
        assert all(found[key].equal(values) for key, values in expected.items())
