"""The fused engine: N steps, output layer and draws included, in one kernel launch.

There are two kernels, for few streams (fused.cu) and for many (fused_many.cu). Weights and
exchanged hidden values are fp16; sums, gates, cell values and logits are fp32.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seqkit.conditions import NO_CONDITIONS, Conditions
from seqkit.config import ModelConfig
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.foundation.machine import Device
from seqkit.generation.engine import Drawing
from seqkit.generation.engines.condition_rows import condition_rows
from seqkit.generation.engines.cuda import copied_out, require_gpu, rule_of
from seqkit.generation.engines.fused_layout import MOST_STREAMS, Gpu, Layout, lay_out
from seqkit.generation.engines.fused_many_layout import ManyLayout, lay_out_many
from seqkit.generation.engines.step_tables import StepTables
from seqkit.generation.sampling import Sampling
from seqkit.kernels.nvrtc import HOPPER, LSTM_CELL, Kernel, Value
from seqkit.model.char_rnn import CharRNN
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers

_SHARED = 99 * 1024  # bytes of shared memory that every GPU from capability 8.6 on gives a block
_FEW = 3  # streams up to which the kernel for few is faster on a Hopper GPU
_PATIENCE = 1 << 21  # polls before a warp gives up, after a second or two


def lay_out_on(device: Device, config: ModelConfig, size: int, streams: int) -> Layout | ManyLayout:
    """The layout for a network on this device; `size` is the codec's V.

    Raises:
        ConfigError, DeviceError: what the kernel, or this device, cannot run.
    """
    require_gpu(device, "fused")
    if config.frame > 1:
        raise ConfigError(
            f"sample.engine=fused makes a symbol a step, not {config.frame}: use "
            "sample.engine=cuda_graph"
        )
    about = torch.cuda.get_device_properties(device)
    knows_many = not config.lookback  # which only the kernel for few predicts by
    many, hopper = streams > MOST_STREAMS and knows_many, (about.major, about.minor) == (9, 0)
    if not hopper if many else about.major < 8:
        needed = f"9.0 for {streams} streams" if many else "8.0"
        raise DeviceError(
            f"sample.engine=fused needs a GPU of capability {needed}, and {about.name} has "
            f"{about.major}.{about.minor}: use sample.engine=cuda_graph"
        )
    shared = getattr(about, "shared_memory_per_block_optin", _SHARED)
    gpu = Gpu(about.multi_processor_count, shared)
    if hopper and streams > _FEW and knows_many:
        try:
            return lay_out_many(config, size, streams, gpu)
        except (ConfigError, DeviceError):
            if many:
                raise
    return lay_out(config, size, streams, gpu)


class FusedEngine:
    """Generates with a fused kernel, on a GPU of capability 8.0 or above."""

    block = 1024
    multiple = 1
    reads = False

    @torch.inference_mode()
    def __init__(self, model: CharRNN, size: int, streams: int) -> None:
        """`size` is the codec's V.

        Raises:
            ConfigError, DeviceError: what this engine, or this GPU, cannot run.
        """
        device = model.head.weight.device
        layout = lay_out_on(device, model.config, size, streams)
        self._layout = layout
        self._device = device
        files = [Path(__file__).with_name(f"{name}.cu") for name in layout.sources]
        self._kernel = Kernel(
            layout.sources[-1],
            sources=[*([HOPPER] if layout.exact else []), LSTM_CELL, *files],
            constants=layout.constants,
            device=device,
            exact=layout.exact,
        )
        self._kernel.reserve(layout.shared)
        tables = StepTables.of(model)
        self._config, self._predictor = model.config, tables.predictor
        self._weights = layout.pack(model, tables)
        self._hidden_words = torch.zeros(layout.hidden_words, dtype=torch.int32, device=device)
        self._logit_words = torch.zeros(layout.logit_words, dtype=torch.int64, device=device)
        self._number = 2  # of the next step; older words carry older step numbers
        self._copies = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.score(np.zeros((1, streams), np.int64), model.zero_state(streams))  # does it start?

    def sample(self, drawing: Drawing) -> Iterator[Integers]:
        """See Engine. A block's symbols are copied out while the next block runs."""
        return map(_checked, copied_out(self._blocks(drawing), self._copies))

    @torch.inference_mode()
    def _blocks(self, drawing: Drawing) -> Iterator[Tensor]:
        """The rows that `_launch` gives of each block, queued on the GPU."""
        fed = torch.from_numpy(drawing.symbols).to(self._device, torch.int32)
        state = drawing.state.on(self._device)
        rule = rule_of(drawing.sampling, self._layout.V)
        for block, known in drawing.blocks():
            uniforms = torch.from_numpy(block).pin_memory().to(self._device, non_blocking=True)
            others = {"first": fed, "draws": uniforms, "rule": rule}
            drawn, state = self._launch(len(block), state, known, others)
            yield drawn
            fed = drawn[len(block) - 1]

    @torch.inference_mode()
    def score(
        self, symbols: Integers, state: State, conditions: Conditions = NO_CONDITIONS
    ) -> tuple[Floats, State]:
        """See Engine."""
        fed = torch.from_numpy(symbols).to(self._device, torch.int32)
        logits = torch.empty(*fed.shape, self._layout.V, device=self._device)
        others = {"first": fed[0], "forced": fed, "logits": logits}
        drawn, state = self._launch(len(fed), state.on(self._device), conditions, others)
        _checked(drawn.cpu().numpy())
        return logits.cpu().numpy(), state.arrays()

    def _launch(
        self, steps: int, state: State, conditions: Conditions, others: Mapping[str, Any]
    ) -> tuple[Tensor, State]:
        """Queue steps: their symbols (steps + 1, S) and the state after them.

        The last row of the symbols is the kernel's error flag: not zero if it gave up. `others` are
        arguments of the kernel, too: see exchange.cu.
        """
        layout, weights, predictor = self._layout, self._weights, self._predictor
        drawn = torch.zeros(steps + 1, layout.S, dtype=torch.int32, device=self._device)
        after = State(*map(torch.empty_like, state))
        rows = None
        if weights.conditions is not None:
            rows = torch.zeros(steps, layout.S, dtype=torch.int32)
            if (known := condition_rows(self._config, conditions)) is not None:
                rows.copy_(torch.as_tensor(known))
            rows = rows.pin_memory().to(self._device, non_blocking=True)
        arguments: dict[str, Value] = {
            "weights": weights.fragments,
            "table": weights.table,
            "condition_table": weights.conditions,
            "bias": weights.bias,
            "head_bias": weights.head_bias,
            "h_in": state.h.contiguous(),
            "c_in": state.c.contiguous(),
            "h_out": after.h,
            "c_out": after.c,
            "draws": None,
            "forced": None,
            "logits": None,
            "conditions": rows,
            "levels": None if predictor is None else predictor.levels,
            "prediction": None if predictor is None else predictor.weights,
            "past": None if predictor is None else state.past.contiguous(),
            "symbols": drawn,
            "hidden_words": self._hidden_words,
            "logit_words": self._logit_words,
            "error": drawn[steps],
            "steps": steps,
            "base": self._number,
            "patience": _PATIENCE,
            "rule": rule_of(Sampling(), layout.V),
            **others,
        }
        self._kernel.launch(
            arguments,
            blocks=layout.BLOCKS,
            threads=layout.threads,
            shared=layout.shared,
            cooperative=True,
        )
        # With many streams the state before the first step is exchanged under a number, too.
        self._number = (self._number + steps + 1) % 2**32
        if predictor is not None:
            fed = others.get("forced")
            if fed is None:
                fed = torch.cat([others["first"][None], drawn[: steps - 1]])
            past = torch.cat([state.past[0], predictor.levels[fed].T], 1)
            after = after._replace(past=past[None, :, steps:])
        return drawn, after


def _checked(rows: Integers) -> Integers:
    """The symbols of what `_launch` gave. Raises DeviceError."""
    if rows[-1].any():
        raise DeviceError(
            "sample.engine=fused: the blocks of the kernel waited for each other in vain; "
            "use sample.engine=cuda_graph"
        )
    return rows[:-1]
