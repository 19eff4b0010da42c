"""How the fused kernel for many streams spreads a network over a GPU, and the weights for it."""

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor

from seqkit.config import ModelConfig
from seqkit.foundation.errors import DeviceError
from seqkit.generation.engines.condition_rows import condition_count
from seqkit.generation.engines.fused_layout import (
    MOST_SYMBOLS,
    Gpu,
    PackedWeights,
    Spread,
    check_limits,
)
from seqkit.generation.engines.step_tables import StepTables
from seqkit.model import cells
from seqkit.model.char_rnn import CharRNN
from seqkit.model.fused_calls import round_up

_UNITS = 8  # of a block, in every layer
_ROWS = 4 * _UNITS
_HEADS = 8  # symbols, at least, of a block of the output layer
_MOST_STREAMS = 256
_MOST_LAYERS = 4
_DRAWN_BY_ALL = 16  # streams whose symbols every block draws by itself
_QUICKLY_DRAWN = 128  # symbols, at most, of such streams


@dataclasses.dataclass(frozen=True, kw_only=True)
class ManyLayout(Spread):
    """The constants of fused_many.cu, which explains them."""

    sources: ClassVar[tuple[str, ...]] = ("draw", "exchange", "fused_many_products", "fused_many")
    exact: ClassVar[bool] = True
    threads: ClassVar[int] = 256

    HIDDEN_SHARED: bool
    DRAW_HERE: bool

    @property
    def hidden_words(self) -> int:
        return 2 * self.L * self.H // 2 * round_up(self.S, 16)

    @property
    def logit_words(self) -> int:
        """With those of the symbols, which lie behind them."""
        return 2 * self.S * (round_up(self.V, _HEADS) + 1)

    def pack(self, model: CharRNN, tables: StepTables) -> PackedWeights:
        """The weights of a network, and its tables, in the order in which the kernel reads them."""
        layers = [cells.weights_of(layer) for layer in model.layers]
        head = model.head.weight.new_zeros(self.BLOCKS * self.HEAD_TILES * _HEADS, self.H)
        head[: self.V] = model.head.weight[: self.V]
        matrices = [_blocks(layer.w, self.BLOCKS, gates=4) for layer in layers[1:]]
        matrices.append(_blocks(head, self.BLOCKS))
        matrices += [_blocks(layer.u, self.BLOCKS, gates=4) for layer in layers]
        table = tables.symbols[: self.V] + layers[0].b + layers[0].d
        bias = torch.stack([layer.b + layer.d for layer in layers])
        bias[0] = 0  # it is in the table
        return PackedWeights(
            fragments=torch.cat([matrix.half().flatten(1) for matrix in matrices], 1).contiguous(),
            table=self._gates(table),
            conditions=None if tables.conditions is None else self._gates(tables.conditions),
            bias=self._gates(bias),
            head_bias=model.head.bias[: self.V].contiguous(),
        )

    def _gates(self, rows: Tensor) -> Tensor:
        """Rows (N, 4H) as (BLOCKS, N, 32): each two units' gates, for a thread, side by side."""
        parts = rows.reshape(len(rows), 4, self.BLOCKS, _UNITS // 2, 2)
        return parts.permute(2, 0, 3, 1, 4).reshape(self.BLOCKS, len(rows), _ROWS).contiguous()


def lay_out_many(config: ModelConfig, size: int, streams: int, gpu: Gpu) -> ManyLayout:
    """The layout for a network on a GPU; `size` is the codec's V.

    Raises:
        ConfigError: a network, or a number of streams, that the kernel does not support.
        DeviceError: a network too large for this GPU.
    """
    layers, h = config.num_layers, config.hidden_size
    check_limits(
        config,
        [
            (layers, _MOST_LAYERS, "layers"),
            (size, min(MOST_SYMBOLS, 4 * h), f"symbols with {h} hidden units"),
            (streams, _MOST_STREAMS, "streams"),
        ],
    )
    blocks = h // _UNITS
    heads = -(-size // (blocks * _HEADS))
    matrix, table = _ROWS * h * 2, size * _ROWS * 4
    fixed = 128 + 2 * 256 * 32 + layers * _ROWS * 4 + round_up(streams, 4) * 4
    fixed += (layers - 1) * matrix + heads * _HEADS * h * 2
    hidden_shared = fixed + layers * matrix <= gpu.shared
    shared = fixed + (layers if hidden_shared else 1) * matrix
    if blocks > gpu.multiprocessors or shared > gpu.shared:
        raise DeviceError(
            f"sample.engine=fused: {layers} layers of {h} with {streams} streams are too large "
            f"for this GPU ({gpu.multiprocessors} multiprocessors)"
        )
    table_shared = shared + table <= gpu.shared
    return ManyLayout(
        L=layers,
        H=h,
        V=size,
        S=streams,
        BLOCKS=blocks,
        HEAD_TILES=heads,
        HIDDEN_SHARED=hidden_shared,
        TABLE_SHARED=table_shared,
        DRAW_HERE=streams <= _DRAWN_BY_ALL and size <= _QUICKLY_DRAWN,
        CONDITIONS=condition_count(config),
        SKIPS=config.skip_connections,
        shared=shared + (table if table_shared else 0),
    )


def _blocks(matrix: Tensor, blocks: int, gates: int = 1) -> Tensor:
    """Rows of gates, or of symbols, (N, H) as every block's own in blocks of 8 rows x 8 columns.

    The result is (blocks, H / 8, rows of a block / 8, 8, 8), as the tensor cores read it.
    """
    width = matrix.shape[1]
    parts = matrix.reshape(gates, blocks, -1, 8, width // 8, 8)
    return parts.permute((1, 4, 0, 2, 3, 5)).reshape(blocks, width // 8, -1, 8, 8)
