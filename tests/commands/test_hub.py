"""Data sets in the format of Hugging Face: trained on and evaluated as files are."""

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import SENTENCE, SMALL, TINY, Run, weights
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
    for name, data in (("files", (f"data.path={tmp_path / 'files'}",)), ("rows", words)):
        run.ok(*TINY, *data, "train.max_steps=4", f"run_dir={tmp_path / name}run")
    expected, found = weights(tmp_path / "filesrun"), weights(tmp_path / "rowsrun")
    assert all(np.array_equal(found[key], values) for key, values in expected.items())


def test_rows_are_learnt_with_the_labels_of_another_column(run: Run, tmp_path: Path) -> None:
    said = {"sea": "wave gull sail ", "wood": "oak owl fox "}
    authors = ["wood", "sea", "sea", "wood", "sea"] * 4
    path = store(tmp_path / "set", [said[own] * 20 for own in authors], authors=authors)
    rows = ["data.kind=hf", f"data.path={path}", f"data.column={COLUMN}"]
    rows.append("data.label_column=author")
    words = ("recipe=shakespeare", "model.input=embedding", *SMALL)
    folder = f"run_dir={tmp_path / 'rowsrun'}"
    done = run.ok(*words, *rows, "train.max_steps=20", "train.validate_every=20", folder)
    assert "label: sea, wood" in done.err
    run.ok(folder, "resume=auto", "train.max_steps=60")
    asked = ("generate", f"checkpoint={tmp_path / 'rowsrun'}", "seed=1", "length=200", "label=sea")
    own = run(*asked).out.decode()
    assert sum(map(own.count, "wvgusi")) > 3 * sum(map(own.count, "kfx"))
    assert run.json("evaluate", f"checkpoint={tmp_path / 'rowsrun'}", *rows)["loss"] > 0
    run.ok(*words, *rows[:-1], "train.max_steps=1", f"run_dir={tmp_path / 'plain'}")
    refused = run("evaluate", f"checkpoint={tmp_path / 'plain'}", *rows)
    assert refused.code == 2 and "label_column=author: this checkpoint learnt no" in refused.err
