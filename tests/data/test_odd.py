"""Odd files are read right, or refused in words that help: the table of `odd`, walked through."""

from pathlib import Path

import pytest

from tests.conftest import Run
from tests.data.odd import FILES, Odd

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("odd", FILES, ids=lambda odd: odd.name)
def test_what_becomes_of_it(odd: Odd, run: Run, tmp_path: Path) -> None:
    file = tmp_path / odd.name
    file.write_bytes(odd.content())
    found = run("doctor", *odd.keys, f"data.path={file}")
    said = (found.out.decode() + found.err).replace(f"{tmp_path}/", "")
    assert (found.code, odd.says in said) == (odd.code, True), said
    assert "Traceback" not in said
