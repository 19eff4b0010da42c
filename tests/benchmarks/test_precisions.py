"""Every precision has its rows, set against the plain loop."""

import re
import runpy
import sys

import pytest

from benchmarks import precisions
from seqkit.foundation.device import has_fast_bf16


def test_each_row_is_set_against_the_plain_loop() -> None:
    lines = precisions.table(["shape=toy", "device=cpu"], rounds=1, calls=3).splitlines()[1:]
    rows = re.findall(r"^(.+?) +([\d.]+) ms .* ([\d.]+) x$", "\n".join(lines), re.M)
    expected = ["plain", "plain_best, fp32", "seqkit, fp32"]
    if has_fast_bf16():
        expected += ["plain_best, bf16 autocast", "seqkit, bf16"]
    assert [name for name, _, _ in rows] == expected
    plain = float(rows[0][1])
    for _, milliseconds, ratio in rows:
        assert abs(plain / float(milliseconds) - float(ratio)) < 0.05


def test_without_a_shape_it_says_so_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["precisions.py"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(precisions.__file__, run_name="__main__")
    assert ended.value.code == 2
    assert capsys.readouterr().err == "precisions: no shape: give shape=NAME\n"
