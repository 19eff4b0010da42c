"""The fused engine: N steps, output layer and draw included, in one launch on one GPU (fused.cu).

Weights and exchanged hidden values are fp16; sums, gates, cell values and logits are fp32.
"""

import ctypes
import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from seqkit.config import ModelConfig
from seqkit.engines.nvrtc import Kernel
from seqkit.errors import ConfigError, DeviceError
from seqkit.generation import Floats, Integers, Sampling
from seqkit.model import CharRNN, State

_ROWS = 16  # of a tile: 4 hidden units, 4 gates each
_MOST_STREAMS = 8
_MOST_SYMBOLS = 1024
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
    HEAD_HERE: bool
    COPIES: int
    IN_REGISTERS: int
    IN_SHARED: int
    TABLE_SHARED: bool
    shared: int
    """Bytes of shared memory a block."""

    @property
    def threads(self) -> int:
        return (self.WARPS + self.TILES) * 32

    @property
    def fragments(self) -> int:
        """Fragments of 16 x 16 weights that a warp multiplies by in a step."""
        return ((2 * self.L - 1) * self.TILES + self.HEAD_TILES) * self.KTILES

    @property
    def constants(self) -> dict[str, int]:
        return {key: value for key, value in dataclasses.asdict(self).items() if key.isupper()}


def lay_out(
    config: ModelConfig,
    size: int,
    streams: int,
    multiprocessors: int,
    shared_limit: int,
    *,
    tiles: int | None = None,
    head_here: bool | None = None,
    registers: int | None = None,
    copies: int = 8,
) -> Plan:
    """The plan for a network on a GPU with so many multiprocessors and bytes of shared memory.

    Raises:
        ConfigError: a network, or a number of streams, that the kernel is not made for.
        DeviceError: a network too large for this GPU.
    """
    layers, h = config.num_layers, config.hidden_size
    for fits, reason in (
        (config.cell == "lstm", f"it knows the lstm cell, not {config.cell}"),
        (h % 32 == 0, f"the hidden size must be a multiple of 32, not {h}"),
        (layers <= 8, f"it takes up to 8 layers, not {layers}"),
        (size <= _MOST_SYMBOLS, f"it takes up to {_MOST_SYMBOLS} symbols, not {size}"),
        (streams <= _MOST_STREAMS, f"it takes up to {_MOST_STREAMS} streams, not {streams}"),
    ):
        if not fits:
            raise ConfigError(f"sample.engine=fused cannot run this: {reason}")
    every = h // 4
    tiles = tiles or next(
        n for n in range(1, every + 1) if every % n == 0 and every // n <= multiprocessors
    )
    blocks = every // tiles
    warps = max(n for n in range(1, 17) if h // 16 % n == 0)
    steps = h // 16 // warps  # of the K dimension, 16 wide, in each warp
    heads = -(-size // _ROWS)
    if head_here is None:
        head_here = heads * steps <= 12
    head_tiles = heads if head_here else -(-heads // blocks)

    columns = 8 if warps <= 8 else 16
    partial = streams * _ROWS * (columns + 4) * 4
    partials = 2 * tiles + (layers - 1) * tiles + (2 if layers == 1 else 1) * head_tiles
    needed = partials * partial + (tiles * streams * heads * _ROWS * 4 if head_here else 0)
    table = size * tiles * _ROWS * 4

    fragments = ((2 * layers - 1) * tiles + head_tiles) * steps
    if registers is None:
        lanes = -(-(warps + tiles) // 4) * 4 * 32  # registers are dealt to four warps at a time
        free = min(65536 // lanes // 8 * 8, 255) - 20 - 4 * steps - 2 * layers * tiles
        registers = max(free // 4, 0)
    registers = min(registers, fragments)
    shared = min(fragments - registers, max(shared_limit - needed, 0) // (warps * 512))
    needed += shared * warps * 512
    table_shared = needed + table <= shared_limit and registers + shared == fragments
    needed += table if table_shared else 0
    if needed > shared_limit or tiles > 8 or steps > 8:
        raise DeviceError(
            f"sample.engine=fused: the network is too large for this GPU ({multiprocessors} "
            "multiprocessors); use sample.engine=cuda_graph"
        )
    return Plan(
        L=layers,
        H=h,
        V=size,
        S=streams,
        BLOCKS=blocks,
        TILES=tiles,
        WARPS=warps,
        KTILES=steps,
        HEAD_TILES=head_tiles,
        HEAD_HERE=head_here,
        COPIES=copies,
        IN_REGISTERS=registers,
        IN_SHARED=shared,
        TABLE_SHARED=table_shared,
        shared=needed,
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
        h, tiles, blocks = plan.H, plan.TILES, plan.BLOCKS
        # Row r of a tile is gate r % 4 of the tile's unit r // 4.
        gates, units = torch.arange(4), torch.arange(h)
        rows = (gates[None, :] * h + units[:, None]).flatten().to(model.head.weight.device)
        first = model.layers[0]
        inputs = first.weight_ih_l0
        if model.embedding is not None:
            table = model.embedding.weight @ inputs.T
        else:
            table = inputs.T
        table = (table + first.bias_ih_l0 + first.bias_hh_l0)[: plan.V, rows].float()
        table = table.reshape(plan.V, blocks, tiles * _ROWS)
        self.table = table.transpose(0, 1).contiguous()
        bias = torch.stack([layer.bias_ih_l0 + layer.bias_hh_l0 for layer in model.layers])
        bias = bias[:, rows].float().reshape(plan.L, blocks, tiles * _ROWS)
        self.bias = bias.transpose(0, 1).contiguous()

        heads = -(-plan.V // _ROWS)
        padded = heads if plan.HEAD_HERE else plan.HEAD_TILES * blocks
        head = model.head.weight.new_zeros(padded * _ROWS, h)
        head[: plan.V] = model.head.weight[: plan.V]
        self.head_bias = model.head.bias.new_zeros(heads * _ROWS, dtype=torch.float32)
        self.head_bias[: plan.V] = model.head.bias[: plan.V]

        def by_block(matrix: Tensor) -> Tensor:
            packed = pack(matrix, plan).reshape(-1, plan_tiles(matrix), *pack_shape)
            return packed.transpose(1, 2).flatten(2, 3)

        pack_shape = (plan.WARPS, plan.KTILES, 32, 8)

        def plan_tiles(matrix: Tensor) -> int:
            return matrix.shape[0] // _ROWS // blocks

        parts = [by_block(layer.weight_ih_l0[rows]) for layer in model.layers[1:]]
        if plan.HEAD_HERE:
            packed = pack(head, plan).transpose(0, 1).flatten(1, 2)
            parts.append(packed.expand(blocks, -1, -1, -1, -1))
        else:
            parts.append(by_block(head))
        parts += [by_block(layer.weight_hh_l0[rows]) for layer in model.layers]
        self.fragments = torch.cat(parts, dim=2).contiguous()


class _Rule(ctypes.Structure):
    _fields_ = (
        ("inverse_temperature", ctypes.c_float),
        ("top_p", ctypes.c_float),
        ("top_k", ctypes.c_int),
        ("greedy", ctypes.c_int),
    )


class _Arguments(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("weights", "table", "bias", "head_bias")),
        *((name, ctypes.c_void_p) for name in ("h_in", "c_in", "h_out", "c_out", "first")),
        *((name, ctypes.c_void_p) for name in ("draws", "forced", "symbols", "logits")),
        *((name, ctypes.c_void_p) for name in ("hidden_words", "logit_words", "error")),
        ("steps", ctypes.c_int),
        ("base", ctypes.c_uint),
        ("patience", ctypes.c_uint),
        ("rule", _Rule),
    )


def _rule(sampling: Sampling, size: int) -> _Rule:
    """The rule of draw.cu."""
    greedy = sampling.temperature == 0
    return _Rule(
        0.0 if greedy else 1 / sampling.temperature,
        1.0 if sampling.top_p is None else sampling.top_p,
        size if sampling.top_k is None else min(sampling.top_k, size),
        greedy,
    )


class FusedEngine:
    """Generates with the fused kernel; the network must be on a GPU of capability 8.0 or above."""

    @torch.inference_mode()
    def __init__(self, model: CharRNN, size: int, streams: int, plan: Plan | None = None) -> None:
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
        limit = about.shared_memory_per_block_optin
        self._plan = plan or lay_out(model.config, size, streams, about.multi_processor_count, limit)
        plan = self._plan
        self._device = device
        self._kernel = Kernel(["draw.cu", "fused.cu"], "fused", plan.constants, device)
        self._kernel.reserve(plan.shared)
        self._weights = Weights(model, plan)
        words = (2, plan.L, plan.COPIES, plan.S, plan.H)
        self._hidden_words = torch.zeros(words, dtype=torch.int32, device=device)
        logits = (2, plan.COPIES, plan.S, len(self._weights.head_bias))
        self._logit_words = torch.zeros(logits, dtype=torch.int64, device=device)
        self._number = 1  # of the next step: words of the steps before it are told by theirs
        self._copies = torch.cuda.Stream(device)

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
                fed, state, len(block), rule=_rule(sampling, self._plan.V), draws=uniforms
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
        rule: _Rule | None = None,
        draws: Tensor | None = None,
        forced: Tensor | None = None,
        logits: Tensor | None = None,
    ) -> tuple[Tensor, State]:
        """Queue `steps` steps: the symbols (steps + 1, S), whose last row tells errors, and state."""
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
            **places, steps=steps, base=self._number, patience=_PATIENCE, rule=rule or _Rule()
        )
        self._kernel.launch(plan.BLOCKS, plan.threads, arguments, plan.shared, cooperative=True)
        self._number = (self._number + steps) % 2**32
        return drawn, after

    def _checked(self, copy: "Copy") -> Integers:
        rows = copy.wait()
        if rows[-1].any():
            raise DeviceError(
                "sample.engine=fused: the blocks of the kernel waited for each other in vain; "
                "use sample.engine=cuda_graph"
            )
        return rows[:-1]


class Copy:
    """A tensor on its way to the host, beside what the GPU runs next."""

    def __init__(self, tensor: Tensor, stream: torch.cuda.Stream) -> None:
        """Copies on `stream` what the current stream will have made."""
        self._host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        stream.wait_stream(torch.cuda.current_stream(tensor.device))
        with torch.cuda.stream(stream):
            self._host.copy_(tensor, non_blocking=True)
            tensor.record_stream(stream)
            self._done = torch.cuda.Event()
            self._done.record()

    def wait(self) -> Integers:
        """The values, once they are there."""
        self._done.synchronize()
        return self._host.numpy().astype(np.int64)
