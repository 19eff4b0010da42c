"""The comparison at the best number of lanes runs, and divides the best by the best."""

import re

from benchmarks import best_batch


def test_the_ratios_are_of_the_best() -> None:
    shape = ["shape=toy", "device=cpu", "lanes=1,4", "model.autotune=false"]
    text = best_batch.table(shape, rounds=1, calls=2)
    rows = [line.split() for line in text.splitlines()[1:-1]]
    assert [row[0] for row in rows] == ["1", "4"]
    best = [max(float(row[i].replace(",", "")) for row in rows) for i in (1, 2, 3)]
    ratios = re.findall(r"seqkit / (plain|plain_best) ([\d.]+)", text)
    assert [name for name, _ in ratios] == ["plain", "plain_best"]
    for other, (_, ratio) in zip(best[1:], ratios, strict=True):
        assert abs(float(ratio) - best[0] / other) < 0.01
