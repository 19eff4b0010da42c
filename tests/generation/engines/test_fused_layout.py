"""The fused kernel's layout and packing, worked out on any machine."""

import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.generation.engines.fused_layout import Gpu, lay_out
from seqkit.generation.engines.fused_many_layout import lay_out_many
from seqkit.generation.engines.step_tables import StepTables
from seqkit.model import cells
from tests.generation.engines.networks import network

H200 = Gpu(132, 227 * 1024)


@pytest.mark.parametrize(
    ("layers", "hidden", "size", "streams"),
    [(1, 32, 2, 1), (2, 512, 65, 1), (3, 1024, 256, 1), (2, 384, 1024, 4), (8, 96, 30, 2)],
)
def test_layouts_cover_the_network(layers: int, hidden: int, size: int, streams: int) -> None:
    config = ModelConfig(num_layers=layers, hidden_size=hidden)
    layout = lay_out(config, size, streams, H200)
    assert hidden == layout.BLOCKS * layout.TILES * 4
    assert hidden == layout.WARPS * layout.KTILES * 16
    assert size <= layout.BLOCKS * layout.HEAD_TILES * 16
    assert H200.multiprocessors >= layout.BLOCKS
    assert layout.shared <= H200.shared
    assert layout.threads <= 1024


@pytest.mark.parametrize(
    ("few", "changes", "size", "streams", "word"),
    [
        (True, {"cell": "gru"}, 65, 1, "lstm"),
        (True, {"hidden_size": 40}, 65, 1, "multiple of 32"),
        (True, {"num_layers": 9}, 65, 1, "8 layers"),
        (True, {}, 65, 5, "4 streams, not 5"),
        (True, {"lookback": 8, "input": "embedding"}, 65, 5, "4 streams with model.lookback"),
        (True, {"backend": "unrolled", "cell_clip": 3.0}, 65, 1, "cell_clip"),
        (False, {"hidden_size": 32}, 129, 8, "128 symbols with 32"),
        (False, {}, 65, 257, "256 streams"),
    ],
)
def test_what_it_is_not_made_for_is_refused(
    few: bool, changes: dict[str, object], size: int, streams: int, word: str
) -> None:
    config = ModelConfig(**changes)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=word):
        (lay_out if few else lay_out_many)(config, size, streams, H200)


def test_a_network_too_large_is_refused() -> None:
    with pytest.raises(DeviceError, match="too large"):
        lay_out(ModelConfig(hidden_size=1024), 65, 1, Gpu(16, H200.shared))
    with pytest.raises(DeviceError, match="too large"):
        lay_out_many(ModelConfig(hidden_size=1024), 65, 64, Gpu(127, H200.shared))
    with pytest.raises(DeviceError, match="too large"):
        lay_out_many(ModelConfig(num_layers=4, hidden_size=1024), 65, 64, H200)


@pytest.mark.parametrize(
    ("layers", "hidden", "size", "streams", "hidden_shared"),
    [
        *[(1, 32, 2, 5, True), (2, 512, 65, 16, True), (2, 1024, 256, 64, True)],
        *[(3, 1024, 256, 64, False), (4, 512, 1024, 256, False)],
    ],
)
def test_layouts_for_many_streams_cover_the_network(
    layers: int, hidden: int, size: int, streams: int, hidden_shared: bool
) -> None:
    config = ModelConfig(num_layers=layers, hidden_size=hidden)
    layout = lay_out_many(config, size, streams, H200)
    assert hidden_shared == layout.HIDDEN_SHARED
    assert hidden == layout.BLOCKS * 8
    assert size <= layout.BLOCKS * layout.HEAD_TILES * 8
    assert H200.multiprocessors >= layout.BLOCKS
    assert layout.shared <= H200.shared


def test_the_weights_for_many_streams_lie_as_the_kernel_reads_them() -> None:
    model = network(2, 96, 40)
    layout = lay_out_many(model.config, 40, 8, H200)
    packed = layout.pack(model, StepTables.of(model))
    # (BLOCKS, a matrix's columns / 8, rows / 8, 8 rows, 8 columns), one matrix after the other
    matrix, head = 12 * 4 * 64, 12 * 64
    sizes = [matrix, head, matrix, matrix]
    inputs, heads, *hidden = torch.split(packed.fragments.float(), sizes, 1)
    layers = [cells.weights_of(layer) for layer in model.layers]
    for found, expected in (
        (inputs, layers[1].w),
        *zip(hidden, (a.u for a in layers), strict=True),
    ):
        rows = found.reshape(12, 12, 4, 8, 8).permute(2, 0, 3, 1, 4).reshape(4 * 96, 96)
        torch.testing.assert_close(rows, expected.half().float())
    rows = heads.reshape(12, 12, 8, 8).transpose(1, 2).reshape(96, 96)
    torch.testing.assert_close(rows[:40], model.head.weight.half().float())
    assert not rows[40:].any()
    # (BLOCKS, V, pairs of units, gates, units of a pair)
    table = packed.table.reshape(12, 40, 4, 4, 2).permute(1, 3, 0, 2, 4).reshape(40, 4 * 96)
    torch.testing.assert_close(table, model.gate_tables()["embedding"] + layers[0].b + layers[0].d)
    bias = packed.bias.reshape(12, 2, 4, 4, 2).permute(1, 3, 0, 2, 4).reshape(2, 4 * 96)
    torch.testing.assert_close(bias[1], layers[1].b + layers[1].d)


def test_the_tensor_cores_would_find_every_weight() -> None:
    """The products of mma.m16n8k16, worked out by hand, are those of the matrices."""
    model = network(2, 96, 40)
    layout = lay_out(model.config, 40, 1, H200)
    packed = layout.pack(
        model, StepTables.of(model)
    ).fragments.float()  # (BLOCKS, WARPS, fragments, lanes, 8)
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
