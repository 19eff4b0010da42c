"""The comparison at the best number of lanes runs, and divides the best by the best."""

import re

from benchmarks import best_batch


def test_the_ratio_is_of_the_best() -> None:
    shape = ["shape=toy", "device=cpu", "lanes=1,4", "model.autotune=false"]
    text = best_batch.table(shape, rounds=1, calls=2)
    rows = [line.split() for line in text.splitlines()[1:-1]]
    assert [row[0] for row in rows] == ["1", "4"]
    seqkit, plain = (max(float(row[i].replace(",", "")) for row in rows) for i in (1, 2))
    ratio = re.search(r"best: ([\d.]+)", text)
    assert ratio is not None
    assert abs(float(ratio[1]) - seqkit / plain) < 0.01
