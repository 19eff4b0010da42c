"""What seqkit's rows run, and how many operations they count."""

from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode

from seqkit.bench import training
from seqkit.config import Config

CPU = torch.device("cpu")


def test_operations_are_those_of_the_matrix_products(config: Config, tmp_path: Path) -> None:
    """Against PyTorch's count of the unrolled network, whose products are all visible."""
    config.model.backend = "unrolled"
    rows, _ = training.rows(config, CPU, ["fp32"])
    step = rows["seqkit_forward_backward"].build()
    with FlopCounterMode(display=False) as counter:
        step()
    model, places = config.model, 8 * 3
    # The first state of a window has no gradient; an embedding is a product there, of V x X.
    missing = 2 * 4 * 24 * 24 * 3 * model.num_layers
    extra = 4 * 7 * 5 * places if model.input == "embedding" else 0
    expected = training.operations(config, "seqkit_forward_backward") - missing + extra
    assert counter.get_total_flops() == expected


def test_layers_alone_have_no_head(config: Config) -> None:
    network = training.operations(config, "seqkit")
    alone = training.operations(config, "bare")
    head, bottom = 6 * 7 * 24 * 24, 2 * 4 * 24 * 5 * 24
    assert network - alone == head + (bottom if config.model.input == "embedding" else 0)
