"""Data sets in the format of Hugging Face: prepared, trained on and evaluated as files are."""

import json
from pathlib import Path

import pytest

from tests.conftest import SENTENCE, TINY, Run, saved, weights
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
def test_a_run_keeps_the_name_of_its_data(
    run: Run, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    done = run(*TINY, *words, f"run_dir={folder}", "train.max_steps=2")
    assert done.code == 0, done.err
    assert f"{len(''.join(ROWS)):,} symbols of set, " in done.err
    assert saved(folder).config["data"]["path"] == [str(tmp_path / "set")]
    more = run(f"run_dir={folder}", "resume=auto", "train.max_steps=3")
    assert more.code == 0, more.err
    finished = run(*TINY, *words, f"run_dir={folder}", "resume=auto", "train.max_steps=3")
    assert "this run is finished" in finished.err
    score = ["evaluate", f"checkpoint={folder}", "device=cpu", "json=true"]
    own = run(*score)
    assert own.code == 0, own.err
    whole = run(*score, *words)
    assert json.loads(own.out)["data_sha256"] == json.loads(whole.out)["data_sha256"]
    monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path / "elsewhere"))
    refused = run(*score)
    assert (refused.code, "is not in the cache, and is fetched only if" in refused.err) == (3, True)


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
