"""The fused engine: N steps, output layer and draw included, in one launch on one GPU (fused.cu).

Weights and exchanged hidden values are fp16; sums, gates, cell values and logits are fp32.
"""

import ctypes
import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from seqkit.config import ModelConfig
from seqkit.errors import ConfigError, DeviceError
from seqkit.generation.engines.cuda import Copy, Rule, rule_of
from seqkit.generation.sampling import Floats, Sampling
from seqkit.kernels.nvrtc import Kernel
from seqkit.model import cells
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import State
from seqkit.model.padding import round_up
from seqkit.symbols import Integers

_ROWS = 16  # of a tile: 4 hidden units, 4 gates each
_MOST_STREAMS = 4
_MOST_SYMBOLS = 1024
_MOST_TILES = 8
_MOST_KTILES = 8
_ENOUGH_BLOCKS = 64
_SHARED = 99 * 1024  # bytes a block may have from capability 8.6 on
_PATIENCE = 1 << 21  # polls before a warp gives up: a second or two


@dataclasses.dataclass(frozen=True)
class Plan:
    """How a network is laid over a GPU: the constants of fused.cu, where they are explained."""

    L: int
    H: int
    V: int
    S: int
    BLOCKS: int
    TILES: int
    WARPS: int
    KTILES: int
    HEAD_TILES: int
    COPIES: int
    IN_REGISTERS: int
    IN_SHARED: int
    TABLE_SHARED: bool
    shared: int
    """Bytes of shared memory a block."""

    @property
    def logits(self) -> int:
        """V, rounded up to whole tiles."""
        return round_up(self.V, _ROWS)

    @property
    def threads(self) -> int:
        return (self.WARPS + self.TILES) * 32

    @property
    def fragments(self) -> int:
        """Fragments of 16 x 16 weights that a warp multiplies by in a step."""
        return ((2 * self.L - 1) * self.TILES + self.HEAD_TILES) * self.KTILES

    @property
    def on_chip(self) -> bool:
        """Whether no fragment is left to be read from L2 at every step."""
        return self.fragments <= self.IN_REGISTERS + self.IN_SHARED

    @property
    def constants(self) -> dict[str, int]:
        return {key: value for key, value in dataclasses.asdict(self).items() if key.isupper()}


def lay_out(
    config: ModelConfig, size: int, streams: int, multiprocessors: int, shared_limit: int
) -> Plan:
    """The plan for a network on a GPU with so many multiprocessors and bytes of shared memory.

    Raises:
        ConfigError: a network, or a number of streams, that the kernel is not made for.
        DeviceError: a network too large for this GPU.
    """
    h = config.hidden_size
    for fits, reason in (
        (config.cell == "lstm", f"it knows the lstm cell, not {config.cell}"),
        (config.clip == 0, "it knows no model.cell_clip"),
        (h % 32 == 0, f"the hidden size must be a multiple of 32, not {h}"),
        (config.num_layers <= 8, f"it takes up to 8 layers, not {config.num_layers}"),
        (size <= _MOST_SYMBOLS, f"it takes up to {_MOST_SYMBOLS} symbols, not {size}"),
        (streams <= _MOST_STREAMS, f"it takes up to {_MOST_STREAMS} streams, not {streams}"),
    ):
        if not fits:
            raise ConfigError(f"sample.engine=fused cannot run this: {reason}")
    possible = [n for n in range(1, _MOST_TILES + 1) if h // 4 % n == 0]
    plans = [_plan(config, size, streams, n, shared_limit) for n in possible]
    plans = [plan for plan in plans if multiprocessors >= plan.BLOCKS]
    plans = [plan for plan in plans if plan.shared <= shared_limit and plan.KTILES <= _MOST_KTILES]
    if not plans:
        raise DeviceError(
            f"sample.engine=fused: {config.num_layers} layers of {h} with {streams} streams are "
            f"too large for this GPU ({multiprocessors} multiprocessors)"
        )
    # Fewer blocks exchange faster, as long as the weights fit into them.
    fewer = [plan for plan in plans if plan.on_chip and plan.BLOCKS <= _ENOUGH_BLOCKS]
    return (fewer or plans)[0]


def _plan(config: ModelConfig, size: int, streams: int, tiles: int, shared_limit: int) -> Plan:
    layers, h = config.num_layers, config.hidden_size
    blocks = h // 4 // tiles
    warps = max(n for n in range(1, 17) if h // 16 % n == 0)
    ktiles = h // 16 // warps
    head_tiles = -(-size // (_ROWS * blocks))
    columns = 8 if warps <= 8 else 16
    partial = streams * _ROWS * (columns + 4) * 4
    needed = (2 * tiles + (layers - 1) * tiles + head_tiles) * partial + 4 * tiles
    fragments = ((2 * layers - 1) * tiles + head_tiles) * ktiles
    lanes = -(-(warps + tiles) // 4) * 4 * 32  # registers are dealt to four warps at a time
    free = min(65536 // lanes // 8 * 8, 255) - 20 - 4 * ktiles - 2 * layers * tiles
    registers = min(max(free // 4, 0), fragments)
    shared = min(fragments - registers, max(shared_limit - needed, 0) // (warps * 512))
    needed += shared * warps * 512
    table = size * tiles * _ROWS * 4
    table_shared = needed + table <= shared_limit and registers + shared == fragments
    return Plan(
        L=layers,
        H=h,
        V=size,
        S=streams,
        BLOCKS=blocks,
        TILES=tiles,
        WARPS=warps,
        KTILES=ktiles,
        HEAD_TILES=head_tiles,
        COPIES=8,
        IN_REGISTERS=registers,
        IN_SHARED=shared,
        TABLE_SHARED=table_shared,
        shared=needed + (table if table_shared else 0),
    )


def pack(matrix: Tensor, plan: Plan) -> Tensor:
    """Rows (tiles * 16, H) as fp16 fragments (tiles, WARPS, KTILES, 32 lanes, 8).

    Lane 4g + j holds, of rows g and g + 8, the four neighbouring columns from 4j on; the kernel
    reads the hidden values in the same order.
    """
    parts = matrix.half().reshape(-1, 2, 8, plan.WARPS, plan.KTILES, 4, 2, 2)
    tile, high, row, warp, step, group, pair, element = range(8)
    order = (tile, warp, step, row, group, pair, high, element)
    return parts.permute(order).reshape(-1, plan.WARPS, plan.KTILES, 32, 8)


class Weights:
    """A network's weights as fused.cu reads them."""

    def __init__(self, model: CharRNN, plan: Plan) -> None:
        layers = [cells.weights_of(layer) for layer in model.layers]
        # Row r of a tile is gate r % 4 of the tile's unit r // 4.
        gates, units = torch.arange(4), torch.arange(plan.H)
        rows = (gates[None, :] * plan.H + units[:, None]).flatten().to(model.head.weight.device)
        wide = (plan.BLOCKS, plan.TILES * _ROWS)
        table = (model.input_table() + layers[0].b + layers[0].d)[: plan.V, rows]
        self.table = table.reshape(plan.V, *wide).transpose(0, 1).contiguous()
        bias = torch.stack([layer.b + layer.d for layer in layers])[:, rows]
        self.bias = bias.reshape(plan.L, *wide).transpose(0, 1).contiguous()
        head = model.head.weight.new_zeros(plan.BLOCKS * plan.HEAD_TILES * _ROWS, plan.H)
        head[: plan.V] = model.head.weight[: plan.V]
        self.head_bias = model.head.bias.new_zeros(plan.logits)
        self.head_bias[: plan.V] = model.head.bias[: plan.V]
        matrices = [layer.w[rows] for layer in layers[1:]]
        matrices += [head, *(layer.u[rows] for layer in layers)]
        packed = [pack(matrix, plan) for matrix in matrices]
        blocks = [p.reshape(plan.BLOCKS, -1, *p.shape[1:]).transpose(1, 2) for p in packed]
        # (BLOCKS, WARPS, fragments, 32 lanes, 8)
        self.fragments = torch.cat([block.flatten(2, 3) for block in blocks], 2).contiguous()


class _Arguments(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("weights", "table", "bias", "head_bias")),
        *((name, ctypes.c_void_p) for name in ("h_in", "c_in", "h_out", "c_out", "first")),
        *((name, ctypes.c_void_p) for name in ("draws", "forced", "symbols", "logits")),
        *((name, ctypes.c_void_p) for name in ("hidden_words", "logit_words", "error")),
        ("steps", ctypes.c_int),
        ("base", ctypes.c_uint),
        ("patience", ctypes.c_uint),
        ("rule", Rule),
    )


class FusedEngine:
    """Generates with the fused kernel; the network must be on a GPU of capability 8.0 or above."""

    @torch.inference_mode()
    def __init__(self, model: CharRNN, size: int, streams: int) -> None:
        """`size` is the codec's.

        Raises:
            ConfigError, DeviceError: what this engine, or this GPU, cannot run.
        """
        device = model.head.weight.device
        if device.type != "cuda":
            raise DeviceError("sample.engine=fused needs a GPU: use device=cuda, or another engine")
        about = torch.cuda.get_device_properties(device)
        if about.major < 8:
            raise DeviceError(
                f"sample.engine=fused needs a GPU of capability 8.0, and {about.name} has "
                f"{about.major}.{about.minor}: use sample.engine=cuda_graph"
            )
        limit = getattr(about, "shared_memory_per_block_optin", _SHARED)
        plan = lay_out(model.config, size, streams, about.multi_processor_count, limit)
        self._plan = plan
        self._device = device
        self._kernel = Kernel(
            "fused",
            sources=[Path(__file__).with_name(name) for name in ("draw.cu", "fused.cu")],
            constants=plan.constants,
            device=device,
        )
        self._kernel.reserve(plan.shared)
        self._weights = Weights(model, plan)
        words = (2, plan.L, plan.COPIES, plan.S, plan.H)
        self._hidden_words = torch.zeros(words, dtype=torch.int32, device=device)
        logits = (2, plan.COPIES, plan.S, plan.logits)
        self._logit_words = torch.zeros(logits, dtype=torch.int64, device=device)
        self._number = 1  # of the next step: words of the steps before it are told by theirs
        self._copies = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    @torch.inference_mode()
    def sample(
        self, symbols: Integers, state: State, draws: Iterable[Floats], sampling: Sampling
    ) -> Iterator[Integers]:
        """See generation.Engine. A block's symbols are copied out while the next block runs."""
        fed = torch.from_numpy(symbols).to(self._device, torch.int32)
        waiting: Copy | None = None
        for block in draws:
            uniforms = torch.from_numpy(block).pin_memory().to(self._device, non_blocking=True)
            drawn, state = self._launch(
                fed, state, len(block), rule=rule_of(sampling, self._plan.V), draws=uniforms
            )
            copy = Copy(drawn, self._copies)
            if waiting is not None:
                yield self._checked(waiting)
            waiting, fed = copy, drawn[len(block) - 1]
        if waiting is not None:
            yield self._checked(waiting)

    @torch.inference_mode()
    def score(self, symbols: Integers, state: State) -> tuple[Floats, State]:
        """See generation.Engine."""
        fed = torch.from_numpy(symbols).to(self._device, torch.int32)
        logits = torch.empty(*fed.shape, self._plan.V, device=self._device)
        drawn, state = self._launch(fed[0], state, len(fed), forced=fed, logits=logits)
        self._checked(Copy(drawn, self._copies))
        return logits.cpu().numpy(), state

    def _launch(
        self,
        first: Tensor,
        state: State,
        steps: int,
        rule: Rule | None = None,
        draws: Tensor | None = None,
        forced: Tensor | None = None,
        logits: Tensor | None = None,
    ) -> tuple[Tensor, State]:
        """Queue steps: symbols (steps + 1, S), the last row not zero after an error, and state."""
        plan, weights = self._plan, self._weights
        drawn = torch.zeros(steps + 1, plan.S, dtype=torch.int32, device=self._device)
        after = State(torch.empty_like(state.h), torch.empty_like(state.c))
        tensors = {
            "weights": weights.fragments,
            "table": weights.table,
            "bias": weights.bias,
            "head_bias": weights.head_bias,
            "h_in": state.h.contiguous(),
            "c_in": state.c.contiguous(),
            "h_out": after.h,
            "c_out": after.c,
            "first": first,
            "draws": draws,
            "forced": forced,
            "symbols": drawn,
            "logits": logits,
            "hidden_words": self._hidden_words,
            "logit_words": self._logit_words,
            "error": drawn[steps],
        }
        places = {k: None if value is None else value.data_ptr() for k, value in tensors.items()}
        arguments = _Arguments(
            **places, steps=steps, base=self._number, patience=_PATIENCE, rule=rule or Rule()
        )
        self._kernel.launch(
            arguments,
            blocks=plan.BLOCKS,
            threads=plan.threads,
            shared=plan.shared,
            cooperative=True,
        )
        self._number = (self._number + steps) % 2**32
        return drawn, after

    def _checked(self, copy: Copy) -> Integers:
        rows = copy.wait()
        if rows[-1].any():
            raise DeviceError(
                "sample.engine=fused: the blocks of the kernel waited for each other in vain; "
                "use sample.engine=cuda_graph"
            )
        return rows[:-1]
