"""docs/tutorials/python.md: every example runs, in the order of the page."""

import contextlib
import io
import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import TINY, Run

PAGE = (Path(__file__).parents[2] / "docs" / "tutorials" / "python.md").read_text()
SENTENCE = "ROMEO:\nTo be, or not to be: ACT I. ACT II.\n"


def test_the_examples_run(
    run: Run, sung: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("novel.txt").write_text(SENTENCE * 100)
    run.ok(*TINY, "data.path=novel.txt", "run_dir=runs/a", "train.max_steps=3")
    shutil.copytree(sung, "runs/b")
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    assert len(blocks) == 7
    names: dict[str, object] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(compile(block, "docs/tutorials/python.md", "exec"), names)
    assert "novel.txt: not a seqkit checkpoint" in printed.getvalue()
    assert float(str(names["loss"].item())) < 1.0  # type: ignore[attr-defined]
