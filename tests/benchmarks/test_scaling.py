"""The measurement of several processes runs, here with one."""

from benchmarks import scaling
from seqkit import compose
from seqkit.foundation.ranks import ALONE


def test_it_measures() -> None:
    keys = ("shape=toy", "device=cpu", "train.max_steps=20", "train.validate_every=0")
    found = scaling.measured(compose.compose([*keys], []).config, ALONE, 20)
    assert found["processes"] == 1
    assert found["p10"] <= found["symbols_per_second"] <= found["p90"]
    assert found["sum_bytes"] > 0
