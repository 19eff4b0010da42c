"""The measurement of a corpus on the host runs; on a CPU both are there."""

from pathlib import Path

from benchmarks import host_corpus
from seqkit import compose


def test_it_measures(tmp_path: Path) -> None:
    config = compose.compose(["shape=toy", "device=cpu"], []).config
    found = host_corpus.measured(config, tmp_path, size=1 << 16, calls=3)
    assert found["ratio"] > 0
    assert found["host_ms"] <= found["host_p90_ms"]
    assert found["cold_mean_ms"] > 0
    assert found["read_again_mb_s"] > 0
