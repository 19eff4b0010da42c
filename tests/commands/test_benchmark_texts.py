"""Recipes for the field's texts, with small files in the place of the real ones."""

from pathlib import Path

import pytest

from tests.conftest import SENTENCE, SMALL, Run

FAST = (*SMALL, "train.max_steps=4", "train.validate_every=2", "train.max_minutes=0")


@pytest.mark.thorough
def test_penn_treebank_is_read_by_its_protocol(run: Run, tmp_path: Path) -> None:
    sizes = {"train": 30, "valid": 5, "test": 7}
    for part, count in sizes.items():
        (tmp_path / f"ptb.char.{part}.txt").write_text(SENTENCE.replace(" ", "_") * count)
        (tmp_path / f"ptb.{part}.txt").write_text("words\n")  # beside them in the archive
    words = [f"data.path={tmp_path}", f"run_dir={tmp_path / 'a'}", *FAST, "quiet=false"]
    told = run.ok("recipe=ptb", *words).err
    assert "3 files of text taken; left out: 3 not ptb.char.*.txt" in told
    checkpoint = f"checkpoint={tmp_path / 'a'}"
    for part, count in (("validation", 5), ("test", 7)):
        scored = run.json("evaluate", checkpoint, f"part={part}")
        assert scored["symbols"] == len(SENTENCE) * count
        assert scored["skipped"] == 0
    of_file = run.json("evaluate", checkpoint, f"data.path={tmp_path / 'ptb.char.test.txt'}")
    assert of_file["loss"] == scored["loss"]
    named = run.fails_in_a_line(3, "recipe=ptb", f"data.path={tmp_path / 'ptb.char.test.txt'}")
    assert "no file matches *valid*, the validation part" in named
    assert "data.path=FILE_OR_FOLDER" in run.fails_in_a_line(2, "recipe=ptb")


def test_enwik8_is_split_by_bytes(run: Run, tmp_path: Path) -> None:
    content = bytes(range(250)) * 8
    (tmp_path / "enwik8").write_bytes(content)
    words = [f"data.path={tmp_path / 'enwik8'}", f"run_dir={tmp_path / 'a'}", *FAST]
    run.ok("recipe=enwik8", *words)
    for part in ("validation", "test"):
        scored = run.json("evaluate", f"checkpoint={tmp_path / 'a'}", f"part={part}")
        assert scored["symbols"] == len(content) // 20
