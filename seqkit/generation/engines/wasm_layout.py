"""An LSTM's weights as step.c reads them: one piece of memory, and what is in it.

Matrices are in 8 bits with a scale for each row. What a symbol, a code, a choice of labels or a
prediction adds to the bottom layer's gates is looked up in tables in 16 bits. They are made in
float64, so that a row is the same whatever other rows are made with it.
"""

from importlib import resources

import numpy as np
import torch
from torch import Tensor

from seqkit.foundation.errors import ConfigError
from seqkit.model import cells
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import Floats

_ALIGNED = 16  # bytes, and hidden units
_ROWS = 16  # of a matrix, side by side
_UNITS = 64  # an activation is a multiple of its inverse
_LAYERS, _BYTES = 64, 1 << 31


def program(relaxed: bool) -> bytes:
    """The WebAssembly of step.c, with relaxed SIMD or without: see there."""
    name = "step_relaxed.wasm" if relaxed else "step.wasm"
    return (resources.files("seqkit.generation.engines") / name).read_bytes()


@torch.no_grad()
def pack(model: CharRNN, size: int, labels: Tensor | None = None) -> tuple[list[float], bytes]:
    """What step.c's `arrange` takes, the number of layers and H rounded up first; and weights.

    Args:
        model: in fp32, on any device.
        size: the codec's V; logits that the model has beyond it are left out.
        labels: choices of labels (n, R), as `CharRNN.with_choices` takes them; by default the
            numbers of the only label, if it has one.

    Raises:
        ConfigError: step.c has no such cell, or not so much room.
    """
    config = model.config
    if config.cell != "lstm":
        raise ConfigError(f"sample.engine=wasm and pages run LSTMs, and this is a {config.cell}")
    wide = model.copied().cpu().double()
    layers, tables = [*map(cells.weights_of, wide.layers)], wide.gate_tables()
    chosen = tables.get("labels") if labels is None else labels.double() @ tables["labels"]
    read = tables["embedding"], tables.get("conditions"), chosen
    parts = [part for rows in read for part in _table(rows)]
    if model.linear_predictor is not None:
        predictor = model.linear_predictor
        levels, borders, weights = (
            part.cpu().numpy() for part in (predictor.levels, predictor.borders, predictor.weights)
        )
        borders = np.append(borders, np.float32(np.inf))
        parts += [*_table(tables["predicted"]), levels, borders, _filled(weights, 1, 4, first=True)]
    for index, (w, u, b, d) in enumerate(layers):
        joined = [_filled(part.numpy(), 1, _ALIGNED) for part in ([w, u] if index else [u])]
        parts += _matrix(_gates(np.concatenate(joined, 1)), _gates((b + d).numpy()), 1)
    top = config.num_layers if config.skip_connections else 1
    head = _filled(_filled(wide.head.weight[:size].numpy(), 1, _ALIGNED), 0, _ROWS)
    parts += _matrix(head, _filled(wide.head.bias[:size].numpy(), 0, _ROWS), top)
    content = b"".join(part.tobytes() + bytes(-part.nbytes % _ALIGNED) for part in parts)
    if config.num_layers > _LAYERS or len(content) > _BYTES:
        raise ConfigError(
            f"sample.engine=wasm and pages run up to {_LAYERS} layers and {_BYTES:,} bytes, not "
            f"{config.num_layers} and {len(content):,}"
        )
    hidden, lookback = config.hidden_size, config.lookback
    arranged = [config.num_layers, hidden + -hidden % _ALIGNED, size, config.vocabulary_size]
    arranged += [config.conditions, 0 if chosen is None else len(chosen), lookback + -lookback % 4]
    return [*arranged, int(config.skip_connections), config.clip], content


def _table(rows: Tensor | None) -> list[np.ndarray]:
    """What rows (N, 4 H) add to the gates, and their scales."""
    if rows is None:
        return []
    values = _gates(rows.numpy().T).T
    scales = _scales(values, 32767)
    return [np.round(values / scales[:, None]).astype("<i2"), scales.astype("<f4")]


def _matrix(weight: Floats, bias: Floats, top: int) -> list[np.ndarray]:
    """Bias, scales, sums and integers of a matrix (N, C) that is multiplied by activations in ±top.

    Activations are made positive by an offset; the sums take that out of the products.
    """
    scales = _scales(weight, 127)
    integers = np.round(weight / scales[:, None]).astype(np.int8)
    blocks = integers.reshape(-1, _ROWS, weight.shape[1] // 4, 4).swapaxes(1, 2)
    sums = -_UNITS * integers.sum(1, np.int32)
    return [bias.astype("<f4"), (scales * top / _UNITS).astype("<f4"), sums, blocks]


def _scales(rows: Floats, most: int) -> Floats:
    """What the integers of each row (N, C) are multiples of."""
    return np.asarray(np.maximum(np.abs(rows).max(1), np.finfo(np.float32).tiny * most) / most)


def _gates(rows: Floats) -> Floats:
    """Rows i f g o (4 H, …) with each gate filled up."""
    return np.concatenate([_filled(gate, 0, _ALIGNED) for gate in np.split(rows, 4)])


def _filled(values: Floats, axis: int, multiple: int, first: bool = False) -> Floats:
    """Values with zeros after them, or before, up to a multiple along an axis."""
    missing = -values.shape[axis] % multiple
    sides = [(0, 0)] * values.ndim
    sides[axis] = (missing, 0) if first else (0, missing)
    return np.pad(values, sides)
