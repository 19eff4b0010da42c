"""Every precision has its rows, set against the plain loop."""

import re

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
