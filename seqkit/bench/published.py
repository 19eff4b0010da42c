"""Times that other authors published for the shapes of `bench`: quoted here, not measured."""

from dataclasses import asdict, dataclass
from typing import Any

from seqkit.config import Config


@dataclass(frozen=True)
class _Training:
    """Forward + backward at one depth of a shape. `derived` says how, if it is not their figure."""

    num_layers: int
    name: str
    gpu: str
    forward_backward_ms: float
    derived: str = ""


_SIZES = {
    "mycaffe": {"hidden_size": 512, "batch_size": 25, "sequence_length": 75},
    "torch_rnn": {"hidden_size": 512, "batch_size": 50, "sequence_length": 50},
    "caffe_lstm": {"hidden_size": 2048, "batch_size": 20, "sequence_length": 100},
}
"""What the published times of a shape hold for, whatever is timed here."""

_TRAINING = {
    "mycaffe": [
        _Training(2, "MyCaffe, unrolled engine", "Titan Xp", 64.0),
        _Training(
            *(2, "MyCaffe, cuDNN engine", "Titan Xp", 12.8),
            derived="64 ms / 5; MyCaffe says only that it is 5 times faster",
        ),
    ],
    "torch_rnn": [
        _Training(1, "torch-rnn", "Titan X", 38.0),
        _Training(1, "char-rnn", "Titan X", 58.0),
        _Training(2, "torch-rnn", "Titan X", 78.0),
        _Training(2, "char-rnn", "Titan X", 108.0),
        _Training(3, "torch-rnn", "Titan X", 117.0),
        _Training(3, "char-rnn", "Titan X", 157.0),
    ],
    "caffe_lstm": [
        _Training(3, "caffe-lstm", "Titan X", 539.0),
        _Training(3, "Donahue's recurrent layer", "Titan X", 726.0),
    ],
}

_GENERATION = {
    "generate_audio": [
        {"name": "WaveRNN's persistent kernel", "gpu": "P100", "symbols_per_second": 96000},
    ],
}


def published(config: Config) -> list[dict[str, Any]]:
    """What is known of a shape, for training at the depth that `model.num_layers` asks for."""
    shape = config.shape or ""
    training = [
        asdict(row) | _SIZES[shape]
        for row in _TRAINING.get(shape, [])
        if row.num_layers == config.model.num_layers
    ]
    return training + _GENERATION.get(shape, [])


def describe(row: dict[str, Any]) -> str:
    """One row of `published` as a line."""
    who = f"{row['name']}, {row['gpu']}"
    if "symbols_per_second" in row:
        return f"{who}: {row['symbols_per_second']:,} symbols/s"
    sizes = "H {hidden_size}, T {sequence_length}, B {batch_size}".format(**row)
    derived = f" (derived: {row['derived']})" if row["derived"] else ""
    return f"{who}: {row['forward_backward_ms']:g} ms forward + backward at {sizes}{derived}"
