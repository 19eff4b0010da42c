"""What is computed from the times."""

import pytest
import torch

from seqkit.bench import report
from seqkit.config import Config
from seqkit.kernels.timing import Row, Timing


def test_ratios_are_of_a_step_of_each_row(config: Config) -> None:
    config.shape, config.streams = "generate_audio", 2
    times = {"plain": 8.0, "torch": 4.0, "cuda_graph": 2.0}
    steps = {"plain": 10, "torch": 100, "cuda_graph": 200}
    rows = {name: Row(lambda: lambda: None, 2 * count) for name, count in steps.items()}
    timings = {name: Timing([time]) for name, time in times.items()}
    result = report.generation_result(config, torch.device("cpu"), rows, timings)
    assert result["ratios"] == pytest.approx({"plain/torch": 20, "plain/cuda_graph": 80})
    graph = result["rows"][2]
    assert graph["symbols_per_second"] == pytest.approx(200_000)
    assert graph["real_time_factor"] == pytest.approx(6.25)
    assert "10.00 µs" in report.table(result)  # a step of cuda_graph


@pytest.mark.parametrize(
    ("shape", "layers", "times"),
    [
        ("mycaffe", 2, [64.0, 12.8]),
        ("mycaffe", 1, []),
        ("torch_rnn", 1, [38.0, 58.0]),
        ("toy", 2, []),
    ],
)
def test_published_times_are_those_of_the_depth(
    config: Config, shape: str, layers: int, times: list[float]
) -> None:
    config.shape, config.model.num_layers = shape, layers
    assert [row["forward_backward_ms"] for row in report.published(config)] == times
