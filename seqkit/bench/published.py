"""Times that other authors published for the shapes of `bench`: quoted here, not measured."""

from typing import Any

from seqkit.config import Config

_SIZES = {
    "mycaffe": {"hidden_size": 512, "batch_size": 25, "sequence_length": 75},
    "torch_rnn": {"hidden_size": 512, "batch_size": 50, "sequence_length": 50},
    "caffe_lstm": {"hidden_size": 2048, "batch_size": 20, "sequence_length": 100},
}
"""What the published times of a shape hold for, whatever is timed here."""

_MYCAFFE_SAYS = "64 ms / 5; MyCaffe says only that it is 5 times faster"

_TRAINING = {
    "mycaffe": [
        (2, "MyCaffe, unrolled engine", "Titan Xp", 64.0, ""),
        (2, "MyCaffe, cuDNN engine", "Titan Xp", 12.8, _MYCAFFE_SAYS),
    ],
    "torch_rnn": [
        (1, "torch-rnn", "Titan X", 38.0, ""),
        (1, "char-rnn", "Titan X", 58.0, ""),
        (2, "torch-rnn", "Titan X", 78.0, ""),
        (2, "char-rnn", "Titan X", 108.0, ""),
        (3, "torch-rnn", "Titan X", 117.0, ""),
        (3, "char-rnn", "Titan X", 157.0, ""),
    ],
    "caffe_lstm": [
        (3, "caffe-lstm", "Titan X", 539.0, ""),
        (3, "Donahue's recurrent layer", "Titan X", 726.0, ""),
    ],
}
"""Forward + backward at one depth of a shape, and how it is derived if it is not their figure."""

_FIELDS = ("num_layers", "name", "gpu", "forward_backward_ms", "derived")

_GENERATION = {
    "generate_audio": [
        {"name": "WaveRNN's persistent kernel", "gpu": "P100", "symbols_per_second": 96000},
    ],
}


def published(config: Config) -> list[dict[str, Any]]:
    """What is known of a shape, for training at the depth that `model.num_layers` asks for."""
    shape = config.shape or ""
    training = [
        dict(zip(_FIELDS, row, strict=True)) | _SIZES[shape]
        for row in _TRAINING.get(shape, [])
        if row[0] == config.model.num_layers
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
