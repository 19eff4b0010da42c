"""How the fused kernel for few streams spreads a network over a GPU, and the weights for it."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from seqkit.config import ModelConfig
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.generation.engines.condition_rows import condition_count
from seqkit.generation.engines.step_tables import StepTables
from seqkit.model import cells
from seqkit.model.char_rnn import CharRNN
from seqkit.model.fused_calls import round_up

_ROWS = 16  # of a tile: 4 hidden units, 4 gates each
MOST_STREAMS = 4
_MOST_LAYERS = 8
MOST_SYMBOLS = 1024
_MOST_TILES = 8
_MOST_KTILES = 8
_ENOUGH_BLOCKS = 64


class Gpu(NamedTuple):
    """What a layout has to know of a GPU: its multiprocessors, and their bytes of shared memory."""

    multiprocessors: int
    shared: int


class PackedWeights(NamedTuple):
    """A network's weights in the order in which a fused kernel reads them.

    Attributes:
        fragments: all matrices, in fp16.
        table: (BLOCKS, V, N): what a symbol brings to the first layer's gates, with its biases; in
            a network that predicts linearly (BLOCKS, 2V, N), then what a predicted one brings.
        conditions: (BLOCKS, CONDITIONS, N): what they bring to them; None without conditions.
        bias: of the gates of every layer.
        head_bias: of the output layer.
    """

    fragments: Tensor
    table: Tensor
    conditions: Tensor | None
    bias: Tensor
    head_bias: Tensor


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spread:
    """How a network is spread over a GPU: the constants that both fused kernels take."""

    L: int
    H: int
    V: int
    S: int
    BLOCKS: int
    HEAD_TILES: int
    TABLE_SHARED: bool
    CONDITIONS: int
    SKIPS: bool
    shared: int
    """Bytes of shared memory a block."""

    @property
    def constants(self) -> dict[str, int]:
        return {key: value for key, value in dataclasses.asdict(self).items() if key.isupper()}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layout(Spread):
    """The constants of fused.cu, which explains them."""

    sources: ClassVar[tuple[str, ...]] = ("draw", "exchange", "fused")
    exact: ClassVar[bool] = False

    TILES: int
    WARPS: int
    KTILES: int
    LOOKBACK: int
    COPIES: int
    IN_REGISTERS: int
    IN_SHARED: int
    on_chip: bool
    """Whether all weights fit into registers and shared memory; the rest is read from L2."""

    @property
    def logits(self) -> int:
        """V, rounded up to whole tiles."""
        return round_up(self.V, _ROWS)

    @property
    def threads(self) -> int:
        return (self.WARPS + self.TILES) * 32

    @property
    def hidden_words(self) -> int:
        return 2 * self.L * self.COPIES * self.S * self.H

    @property
    def logit_words(self) -> int:
        return 2 * self.COPIES * self.S * self.logits

    def pack(self, model: CharRNN, tables: StepTables) -> PackedWeights:
        """The weights of a network, and its tables, in the order in which the kernel reads them."""
        layers = [cells.weights_of(layer) for layer in model.layers]
        # Row r of a tile is gate r % 4 of the tile's unit r // 4.
        gates, units = torch.arange(4), torch.arange(self.H)
        rows = (gates[None, :] * self.H + units[:, None]).flatten().to(model.head.weight.device)
        wide = (self.BLOCKS, self.TILES * _ROWS)
        table = (tables.symbols + layers[0].b + layers[0].d)[: self.V, rows]
        if tables.predicted is not None:
            table = torch.cat([table, tables.predicted[: self.V, rows]])
        conditions = tables.conditions
        if conditions is not None:
            conditions = conditions[:, rows].reshape(-1, *wide).transpose(0, 1).contiguous()
        bias = torch.stack([layer.b + layer.d for layer in layers])[:, rows]
        head = model.head.weight.new_zeros(self.BLOCKS * self.HEAD_TILES * _ROWS, self.H)
        head[: self.V] = model.head.weight[: self.V]
        head_bias = model.head.bias.new_zeros(self.logits)
        head_bias[: self.V] = model.head.bias[: self.V]
        matrices = [layer.w[rows] for layer in layers[1:]]
        matrices += [head, *(layer.u[rows] for layer in layers)]
        packed = [_pack(matrix, self) for matrix in matrices]
        blocks = [p.reshape(self.BLOCKS, -1, *p.shape[1:]).transpose(1, 2) for p in packed]
        return PackedWeights(
            # (BLOCKS, WARPS, fragments, 32 lanes, 8)
            fragments=torch.cat([block.flatten(2, 3) for block in blocks], 2).contiguous(),
            table=table.reshape(-1, *wide).transpose(0, 1).contiguous(),
            conditions=conditions,
            bias=bias.reshape(self.L, *wide).transpose(0, 1).contiguous(),
            head_bias=head_bias,
        )


def lay_out(config: ModelConfig, size: int, streams: int, gpu: Gpu) -> Layout:
    """The layout for a network on a GPU; `size` is the codec's V.

    Raises:
        ConfigError: a network, or a number of streams, that the kernel does not support.
        DeviceError: a network too large for this GPU.
    """
    h = config.hidden_size
    check_limits(
        config,
        [
            (config.num_layers, _MOST_LAYERS, "layers"),
            (size, MOST_SYMBOLS, "symbols"),
            (streams, MOST_STREAMS, "streams" + " with model.lookback" * bool(config.lookback)),
        ],
    )
    layouts = [
        layout
        for tiles in range(1, _MOST_TILES + 1)
        if h // 4 % tiles == 0
        and (layout := _layout(config, size, streams, tiles, gpu.shared)).KTILES <= _MOST_KTILES
        and gpu.multiprocessors >= layout.BLOCKS
        and layout.shared <= gpu.shared
    ]
    if not layouts:
        raise DeviceError(
            f"sample.engine=fused: {config.num_layers} layers of {h} with {streams} streams are "
            f"too large for this GPU ({gpu.multiprocessors} multiprocessors)"
        )
    # Fewer blocks exchange values faster, as long as the weights fit into them.
    fewer = [layout for layout in layouts if layout.on_chip and layout.BLOCKS <= _ENOUGH_BLOCKS]
    return (fewer or layouts)[0]


def check_limits(config: ModelConfig, limits: Sequence[tuple[int, int, str]]) -> None:
    """Refuse what neither kernel knows, and any number above its limit: ConfigError."""
    reasons = [f"it takes up to {most} {what}, not {n}" for n, most, what in limits if n > most]
    if config.cell != "lstm":
        reasons.append(f"it knows the lstm cell, not {config.cell}")
    if config.clip:
        reasons.append("it knows no model.cell_clip")
    if config.hidden_size % 32:
        reasons.append(f"the hidden size must be a multiple of 32, not {config.hidden_size}")
    if reasons:
        raise ConfigError(f"sample.engine=fused cannot run this: {reasons[0]}")


def _layout(config: ModelConfig, size: int, streams: int, tiles: int, shared_limit: int) -> Layout:
    layers, h = config.num_layers, config.hidden_size
    blocks = h // 4 // tiles
    warps = max(n for n in range(1, 17) if h // 16 % n == 0)
    ktiles = h // 16 // warps
    head_tiles = -(-size // (_ROWS * blocks))
    columns = 8 if warps <= 8 else 16
    partial = streams * _ROWS * (columns + 4) * 4
    needed = (2 * tiles + (layers - 1) * tiles + head_tiles) * partial
    needed += 4 * tiles * (1 + streams * config.lookback)
    # Fragments of 16 x 16 weights that a warp multiplies by in a step.
    fragments = ((2 * layers - 1) * tiles + head_tiles) * ktiles
    lanes = round_up(warps + tiles, 4) * 32  # registers are allocated to four warps at a time
    free = min(65536 // lanes // 8 * 8, 255) - 20 - 4 * ktiles - 2 * layers * tiles
    free -= 4 * head_tiles * config.skip_connections
    registers = min(max(free // 4, 0), fragments)
    shared = min(fragments - registers, max(shared_limit - needed, 0) // (warps * 512))
    needed += shared * warps * 512
    table = size * tiles * _ROWS * 4 * (2 if config.lookback else 1)
    on_chip = registers + shared == fragments
    table_shared = on_chip and needed + table <= shared_limit
    return Layout(
        L=layers,
        H=h,
        V=size,
        S=streams,
        BLOCKS=blocks,
        TILES=tiles,
        WARPS=warps,
        KTILES=ktiles,
        LOOKBACK=config.lookback,
        HEAD_TILES=head_tiles,
        COPIES=8,
        IN_REGISTERS=registers,
        IN_SHARED=shared,
        on_chip=on_chip,
        TABLE_SHARED=table_shared,
        CONDITIONS=condition_count(config),
        SKIPS=config.skip_connections,
        shared=needed + (table if table_shared else 0),
    )


def _pack(matrix: Tensor, layout: Layout) -> Tensor:
    """Rows (tiles * 16, H) as fp16 fragments (tiles, WARPS, KTILES, 32 lanes, 8).

    Lane 4g + j holds, of rows g and g + 8, the four neighbouring columns from 4j on; the kernel
    reads the hidden values in the same order.
    """
    parts = matrix.half().reshape(-1, 2, 8, layout.WARPS, layout.KTILES, 4, 2, 2)
    tile, high, row, warp, step, group, pair, element = range(8)
    order = (tile, warp, step, row, group, pair, high, element)
    return parts.permute(order).reshape(-1, layout.WARPS, layout.KTILES, 32, 8)
