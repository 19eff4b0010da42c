"""Every shape has its figures in the page and in wasmtime, with relaxed SIMD and without."""

import pytest

from benchmarks import page_speed
from tests.browser import needs_browser


@needs_browser
@pytest.mark.thorough
def test_every_row_has_figures() -> None:
    small = ["model.hidden_size=16", "train.batch_size=4", "train.sequence_length=16"]
    head, *rows = page_speed.table(small, seconds=0.5, symbols=2000).splitlines()
    assert head.split() == ["MB", "opens", "SIMD", "page", "gaps", "wasmtime"]
    assert [row.split()[-4] for row in rows] == ["relaxed", "plain"] * 3
    for row in rows:
        *_, page, _, wasmtime = row.replace(",", "").split()
        assert int(page) > 0 and int(wasmtime) > 0
