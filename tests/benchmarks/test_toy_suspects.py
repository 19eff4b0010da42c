"""The experiments of docs/how/cudnn.md come out as the page says."""

import pytest

from benchmarks import toy_suspects


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("suspect", "steps", "lowest", "highest"),
    [
        ("none", 2000, 0.0, 0.05),
        ("sign", 1000, 100.0, 1e5),
        ("stale", 1000, 50.0, 1e4),
        ("biases", 2000, 0.0, 0.05),
        ("state", 1000, 0.4, 2.0),
        ("hy", 1000, 1.0, 5.0),
        ("rate", 1000, 5.0, 5.6),
    ],
)
def test_a_suspect_alone_does_what_the_page_says(
    suspect: str, steps: int, lowest: float, highest: float
) -> None:
    assert lowest < toy_suspects.train(suspect, steps).true[-1] < highest
