"""A save is measured whole, and beside the steps of a training."""

import re
from pathlib import Path

from benchmarks import saving
from tests.conftest import SMALL


def test_a_save_is_measured_beside_steps(text_file: Path) -> None:
    line = saving.report([*SMALL, f"data.path={text_file}"], rounds=2)
    assert re.fullmatch(
        r"0\.\d MB: written after \d+\.\d{3} s; no step can run for \d+\.\d{4} s, the copies alone "
        r"take \d+\.\d{4} s; \d+ steps take -?\d+\.\d{3} s more, \d+\.\d\d% of a minute",
        line,
    )
