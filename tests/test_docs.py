"""The documents are true: every key is listed, every example works."""

import re
from pathlib import Path

import pytest

from seqkit import config
from tests.conftest import TINY, Run

DOCS = Path(__file__).parent.parent / "docs"


def test_every_key_stands_in_the_table_with_its_default() -> None:
    table = (DOCS / "config.md").read_text().partition("## Environment")[0]
    rows = dict(re.findall(r"^\| `([\w.]+)` \| (.*)$", table, re.M))
    assert list(rows) == [name for name, _ in config.options()]
    for name, item in config.options():
        default = config.default_of(item)
        shown = "" if default is None or default == "" else f"`{default}`"
        assert rows[name].startswith(f"{shown} |"), name
        assert item.metadata["help"] in rows[name], name


def test_the_example_of_a_dataset_of_ones_own_works(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (DOCS / "datasets.md").read_text()
    examples = dict(
        re.findall(r"^`([\w/]+\.(?:py|yaml))`:\n\n```\w+\n(.*?)^```", page, re.M | re.S)
    )
    assert len(examples) == 2
    for name, content in examples.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    tiny = [argument for argument in TINY if not argument.startswith("recipe=")]
    command = re.search(r"^    python -m seqkit (--config-dir .*)$", page, re.M)
    assert command is not None
    result = run(*command[1].split(), *tiny, "train.max_steps=2", "run_dir=run")
    assert result.code == 0, result.err
    assert (tmp_path / "run" / "summary.json").exists()
