"""The documents are true: every key is listed, every example works."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from seqkit import config, errors
from seqkit.options import default_of
from tests.conftest import TINY, Run

DOCS = Path(__file__).parent.parent / "docs"


def row(name: str, item: dataclasses.Field[Any]) -> str:
    """A key's line in docs/config.md."""
    default, bounds = default_of(item), item.metadata
    limits = [", ".join(bounds["choices"])] if bounds["choices"] else []
    for sign, bound in (("≥", "minimum"), (">", "above"), ("≤", "maximum")):
        if bounds[bound] is not None:
            limits.append(f"{sign} {bounds[bound]:g}")
    shown = "" if default is None or default == "" else f"`{default}`"
    return f"| `{name}` | {shown} | {' '.join(limits)} | {bounds['help']} |"


def test_the_table_of_keys_is_that_of_the_program() -> None:
    table = (DOCS / "config.md").read_text().partition("## Environment")[0]
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    assert lines == [row(name, item) for name, item in config.options()]
    for key in config.FREE_TEXT:
        assert f"`{key}`" in table.partition("| key |")[0]


def test_every_exit_code_is_explained() -> None:
    codes = {
        int(code) for code in re.findall(r"^\| (\d+) \|", (DOCS / "config.md").read_text(), re.M)
    }
    used = {error.exit_code for error in errors.SeqkitError.__subclasses__()}
    assert codes == used | {0}


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
