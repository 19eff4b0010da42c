"""The fused kernel's layout and packing, worked out on any machine."""

import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.errors import ConfigError, DeviceError
from seqkit.generation.engines.fused_layout import PackedWeights, lay_out
from seqkit.model import cells
from tests.generation.engines.networks import network

H200 = (132, 227 * 1024)  # multiprocessors, bytes of shared memory a block


@pytest.mark.parametrize(
    ("layers", "hidden", "size", "streams"),
    [(1, 32, 2, 1), (2, 512, 65, 1), (3, 1024, 256, 1), (2, 384, 1024, 4), (8, 96, 30, 2)],
)
def test_layouts_cover_the_network(layers: int, hidden: int, size: int, streams: int) -> None:
    config = ModelConfig(num_layers=layers, hidden_size=hidden)
    layout = lay_out(config, size, streams, *H200)
    assert hidden == layout.BLOCKS * layout.TILES * 4
    assert hidden == layout.WARPS * layout.KTILES * 16
    assert size <= layout.BLOCKS * layout.HEAD_TILES * 16
    assert H200[0] >= layout.BLOCKS
    assert layout.shared <= H200[1]
    assert layout.threads <= 1024


@pytest.mark.parametrize(
    ("changes", "size", "streams", "word"),
    [
        ({"cell": "gru"}, 65, 1, "lstm"),
        ({"hidden_size": 40}, 65, 1, "multiple of 32"),
        ({"num_layers": 9}, 65, 1, "8 layers"),
        ({}, 1025, 1, "1024 symbols"),
        ({}, 65, 5, "4 streams"),
        ({"skip_connections": True}, 65, 1, "skip_connections"),
        ({"backend": "unrolled", "cell_clip": 3.0}, 65, 1, "cell_clip"),
    ],
)
def test_what_it_is_not_made_for_is_refused(
    changes: dict[str, object], size: int, streams: int, word: str
) -> None:
    with pytest.raises(ConfigError, match=word):
        lay_out(ModelConfig(**changes), size, streams, *H200)  # type: ignore[arg-type]


def test_a_network_too_large_is_refused() -> None:
    with pytest.raises(DeviceError, match="too large"):
        lay_out(ModelConfig(hidden_size=1024), 65, 1, 16, H200[1])


def test_the_tensor_cores_would_find_every_weight() -> None:
    """The products of mma.m16n8k16, worked out by hand, are those of the matrices."""
    model = network(2, 96, 40)
    layout = lay_out(model.config, 40, 1, *H200)
    packed = PackedWeights(model, layout).fragments.float()  # (BLOCKS, WARPS, fragments, lanes, 8)
    h = torch.rand(96, generator=torch.Generator().manual_seed(4)).half().float()
    # Register (half, high) of lane 4g + j: row g + 8 high, columns 4j + 2 half and the next.
    shape = (layout.BLOCKS, layout.WARPS, -1, layout.TILES, layout.KTILES, 8, 4, 2, 2, 2)
    assert layout.HEAD_TILES == layout.TILES == 1
    columns = h.reshape(layout.WARPS, 1, 1, layout.KTILES, 1, 4, 2, 1, 2)
    sums = (packed.reshape(shape) * columns).sum((1, 4, 6, 7, 9))  # (BLOCKS, matrices, tiles, 8, 2)
    rows = sums.transpose(-1, -2).flatten(-2)  # (BLOCKS, matrices, tiles, 16)
    layers = [cells.weights_of(layer) for layer in model.layers]
    units = rows.permute(1, 0, 2, 3).reshape(-1, 24 * 4, 4).transpose(1, 2).flatten(1)
    for index, matrix in ((0, layers[1].w), (2, layers[0].u), (3, layers[1].u)):
        torch.testing.assert_close(units[index], matrix.half().float() @ h)
    head = rows[:, 1].flatten()
    torch.testing.assert_close(head[:40], model.head.weight.half().float() @ h)
    assert not head[40:].any()
