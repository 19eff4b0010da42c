"""The loops that seqkit is compared with really train."""

import math

import pytest
import torch

from seqkit.bench import plain
from seqkit.bench.plain import Variant
from seqkit.config import Config
from seqkit.foundation.device import has_fast_bf16

CPU = torch.device("cpu")


def losses(
    config: Config, device: torch.device, variant: Variant | None, steps: int
) -> list[float]:
    """Of updates from seeded weights; no variant is the usual loop."""
    torch.manual_seed(3)
    step = (
        plain.plain_step(config, device)
        if variant is None
        else plain.best_step(config, device, variant)
    )
    return [float(step()) for _ in range(steps)]


def test_the_usual_loop_learns_its_window(config: Config) -> None:
    found = losses(config, CPU, None, 150)
    assert found[0] == pytest.approx(math.log(7), rel=0.1)
    assert sum(found[-10:]) / 10 < 0.9 * found[0]


def test_the_best_loop_makes_the_updates_of_the_usual_one(config: Config) -> None:
    config.train.clip_norm = 0.1  # so that it counts
    best = losses(config, CPU, Variant("fp32", graph=False), 20)
    assert best == pytest.approx(losses(config, CPU, None, 20), rel=1e-4)


@pytest.mark.gpu
def test_a_graph_makes_the_updates_that_it_recorded(config: Config) -> None:
    """The warm-up before a recording makes updates of its own, which the others make first."""
    device = torch.device("cuda", 0)
    recorded = losses(config, device, Variant("fp32", graph=True), 20)
    launched = losses(config, device, Variant("fp32", graph=False), 20 + plain.WARM)
    assert recorded == pytest.approx(launched[plain.WARM :], rel=0.02)


def test_rows_name_the_variant_that_was_the_fastest(config: Config) -> None:
    rows = plain.rows(config, CPU)
    assert list(rows) == ["plain", "plain_best"]
    allowed = {"fp32", "bf16 autocast"} if has_fast_bf16() else {"fp32"}
    assert rows["plain_best"].variant in allowed
    assert all(row.symbols == 24 for row in rows.values())
    step = rows["plain_best"].build()
    first = step()
    assert isinstance(first, torch.Tensor)
    assert float(first) > 0
