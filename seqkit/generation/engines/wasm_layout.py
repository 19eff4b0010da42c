"""An LSTM's weights as step.c reads them: one piece of memory, and what is in it.

Matrices are in 8 bits with a scale for each row. What a symbol or a choice of labels adds to the
bottom layer's gates is looked up in tables in 16 bits. They are made in float64, so that a row is
the same whatever other rows are made with it. If a step has several symbols, what one adds to the
gates and to what the next ones are written from comes in 8 bits, the former as two factors, and
step.c makes tables of both.
"""

from importlib import resources

import numpy as np

from seqkit.config import ModelConfig
from seqkit.foundation.errors import ConfigError
from seqkit.model.arrays import Network, NetworkArrays
from seqkit.symbols import Floats

_ALIGNED = 16  # bytes, and hidden units
_ROWS = 16  # of a matrix, side by side
_UNITS = 64  # an activation is a multiple of its inverse
_LAYERS, _BYTES = 64, 1 << 31


def program(relaxed: bool) -> bytes:
    """The WebAssembly of step.c, with relaxed SIMD or without: see there."""
    name = "step_relaxed.wasm" if relaxed else "step.wasm"
    return (resources.files("seqkit.generation.engines") / name).read_bytes()


def require_lstm(config: ModelConfig) -> None:
    """Refuse other cells, which step.c does not know: ConfigError."""
    if config.cell != "lstm":
        raise ConfigError(f"sample.engine=wasm and pages run LSTMs, and this is a {config.cell}")


def pack(model: Network, size: int, labels: Floats | None = None) -> tuple[list[float], bytes]:
    """What step.c's `arrange` takes, the number of layers and H rounded up first; and weights.

    Args:
        model: in fp32, on any device.
        size: the codec's V; logits that the model has beyond it are left out.
        labels: choices of labels (n, R), as `NetworkArrays.with_choices` takes them; by default the
            numbers of the only label, if it has one.

    Raises:
        ConfigError: step.c has no such cell, or not so much room.
    """
    config = model.config
    require_lstm(config)
    own = NetworkArrays.of(model)
    wide, gates = own.in_float64(), 4 * (config.hidden_size + -config.hidden_size % _ALIGNED)
    rows, width = config.input_rows, config.embedding_size
    factored = config.frame > 1 and config.input == "embedding"
    factored = factored and width * (rows + gates) < 2 * rows * gates  # bytes
    chosen = of_labels = wide.gate_table("labels")
    if labels is not None and of_labels is not None:
        chosen = labels.astype(float) @ of_labels
    parts = _factors(wide) if factored else _gate_table(wide)
    parts += [] if chosen is None else _table(_parted(chosen.T).T)
    for index in range(config.num_layers):
        w, u, b, d = wide.layer(index)
        joined = [_filled(_parted(part), 1, _ALIGNED) for part in ([w, u] if index else [u])]
        parts += _matrix(np.concatenate(joined, 1), _parted(b + d), 1 / _UNITS)
    parts += _heads(wide, size)
    content = b"".join(part.tobytes() + bytes(-part.nbytes % _ALIGNED) for part in parts)
    needed = len(content) + 4 * rows * gates * factored  # tables that step.c makes
    if config.num_layers > _LAYERS or needed > _BYTES:
        raise ConfigError(
            f"sample.engine=wasm and pages run up to {_LAYERS} layers and {_BYTES:,} bytes, not "
            f"{config.num_layers} and {needed:,}"
        )
    hidden, z = config.hidden_size, config.head_size
    shape = config.num_layers, hidden + -hidden % _ALIGNED, size, config.vocabulary_size
    rest = int(config.skip_connections), config.frame, z + -z % _ALIGNED
    choices = 0 if chosen is None else len(chosen)
    return [*shape, choices, *rest, width * factored], content


def _heads(model: NetworkArrays, size: int) -> list[np.ndarray]:
    """What makes logits of h: a matrix; or of P places what makes z of h, and a matrix each."""
    config, parts = model.config, list[np.ndarray]()
    unit, least = (config.num_layers if config.skip_connections else 1) / _UNITS, -_UNITS
    if config.frame > 1:
        weight, bias = (_parted(own, config.frame) for own in model.head("frame.hidden"))
        parts += _matrix(_filled(weight, 1, _ALIGNED), bias, unit)
        parts += _table(_filled(model.weights["frame.drawn"], 1, _ALIGNED), np.int8)
        unit, least = 1, 0  # step.c finds the unit of z, which is never below 0
    heads = (np.split(own, config.frame) for own in model.head())
    for weight, bias in zip(*heads, strict=True):
        matrix = _filled(_filled(weight[:size], 1, _ALIGNED), 0, _ROWS)
        parts += _matrix(matrix, _filled(bias[:size], 0, _ROWS), unit, least)
    return parts


def _gate_table(model: NetworkArrays) -> list[np.ndarray]:
    """What each symbol adds to the gates."""
    rows = model.gate_table("embedding")
    assert rows is not None
    first = int(model.config.frame == 1)  # a row that is none
    return _table(_parted(np.pad(rows, ((first, 0), (0, 0))).T).T)


def _factors(model: NetworkArrays) -> list[np.ndarray]:
    """The embedding of symbols and what reads it, of which step.c makes a table."""
    rows, reader = model.factors("embedding")
    (embedded, of_rows), (readers, of_gates) = (
        _table(part, np.int8) for part in (rows, _parted(reader))
    )
    return [embedded, readers, of_rows, of_gates]


def _table(rows: Floats, kind: type[np.signedinteger] = np.int16) -> list[np.ndarray]:
    """Rows (N, C) that are looked up, and their scales."""
    values, scales = _integers(rows, kind)
    return [values, scales.astype("<f4")]


def _matrix(weight: Floats, bias: Floats, unit: float, least: int = -_UNITS) -> list[np.ndarray]:
    """Bias, scales, sums and integers of a matrix (N, C) that activations are multiplied by.

    These are integers, times `unit`. They are made positive by an offset, from `least` on; the
    sums take that out of the products.
    """
    integers, scales = _integers(weight, np.int8)
    blocks = integers.reshape(-1, _ROWS, weight.shape[1] // 4, 4).swapaxes(1, 2)
    sums = least * integers.sum(1, np.int32)
    return [bias.astype("<f4"), (scales * unit).astype("<f4"), sums, blocks]


def _integers(rows: Floats, kind: type[np.signedinteger]) -> tuple[np.ndarray, Floats]:
    """Rows (N, C) as integers, and what those of each row are multiples of, (N,)."""
    most = np.iinfo(kind).max
    scales = np.maximum(np.abs(rows).max(1), np.finfo(np.float32).tiny * most) / most
    return np.round(rows / scales[:, None]).astype(kind), scales


def _parted(rows: Floats, parts: int = 4) -> Floats:
    """Rows (N, …) of so many parts, by default of the gates i f g o, with each part filled up."""
    return np.concatenate([_filled(p, 0, _ALIGNED) for p in np.split(rows, parts)])


def _filled(values: Floats, axis: int, multiple: int) -> Floats:
    """Values with zeros after them, up to a multiple along an axis."""
    missing = -values.shape[axis] % multiple
    sides = [(0, 0)] * values.ndim
    sides[axis] = 0, missing
    return np.pad(values, sides)
