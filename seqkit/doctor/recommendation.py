"""What to train on some data in the time that there is: a rule, and what to expect of it.

The rule comes from runs that stand in docs/results.md; docs/doctor.md says how far it reaches.
Narrow networks make more steps, but end higher. Wider ones take over where they make several
thousand steps. Dropout helps where the training part is read several times.
"""

from dataclasses import dataclass, replace
from typing import Any

from seqkit.config import ModelConfig
from seqkit.doctor.fit import Expected, expected_loss
from seqkit.doctor.speed import Speed
from seqkit.training.footprint import TrainingShape

LAYERS = 2
LANES = {"text": 32, "bytes": 32, "audio": 16}
STEPS = {"text": 64, "bytes": 64, "audio": 128}
_WIDTHS = {
    "text": {512: 12_000, 384: 4_000, 256: 600, 192: 450, 128: 0},
    "audio": {512: 24_000, 384: 16_000, 256: 8_000, 192: 4_000, 128: 0},
}
"""Units of a layer, and the steps from which a network of that width is worth its time."""
MOMENTS = 3  # values kept for each weight: AdamW's two and the average
_FILLED = 0.6  # of the free memory: more may be needed than is estimated
_LEAST_STEPS = 100
TRAINING = 0.93  # of the time is spent on steps, the rest on validations and samples
_VALIDATIONS = 8
_SCORING = 0.4  # of the time that a symbol takes in training, by both weights and all temperatures
_TOLERATED = 3  # times the time for validations, before the validation part is made smaller
_LEAST_SCORED = 20_000  # symbols, by which losses can be told apart
_WARM_UP = 0.1  # of the steps at most
_MANY_SYMBOLS = 512  # beyond it a symbol is shown by an embedding
_MANY_STEPS = 4000  # from which a slower average is better
_OFTEN = 8.0  # readings of the training part from which dropout helps
_DROPPED = {"dropout": 0.1, "output_dropout": 0.25, "weight_drop": 0.2}


@dataclass(frozen=True)
class Task:
    """What is known of the data and of the machine.

    kind: text, bytes or audio.
    symbols: of the training part.
    vocabulary: V.
    baseline: the strongest one that needs no network, bits a symbol.
    seconds: that the training may take.
    precision: fp32, bf16 or fp16.
    free: bytes of memory; None where that is not known.
    split: the shares of training, validation and test part; None where they are not to change.
    """

    kind: str
    symbols: int
    vocabulary: int
    baseline: float
    seconds: float
    precision: str
    free: int | None
    split: list[float] | None = None


@dataclass(frozen=True)
class Recommendation:
    """Keys of a training, and what is to be expected of it.

    steps: updates.
    read: the symbols that they read.
    seconds: that they take.
    epochs: how often the training part is read.
    memory: bytes, by estimate.
    """

    keys: dict[str, Any]
    model: ModelConfig
    steps: int
    read: int
    seconds: float
    epochs: float
    memory: int
    expected: Expected


def network(vocabulary: int) -> ModelConfig:
    """The kind of network that is recommended, in one of its widths."""
    return ModelConfig(
        num_layers=LAYERS,
        skip_connections=True,
        vocabulary_size=vocabulary,
        input="one_hot" if vocabulary <= _MANY_SYMBOLS else "embedding",
        embedding_size=128,
    )


def recommend(task: Task, speed: Speed) -> Recommendation:
    """What to train: the widest network that makes steps enough in the time that there is."""
    lanes, length = LANES[task.kind], STEPS[task.kind]
    for width, worth in _WIDTHS["audio" if task.kind == "audio" else "text"].items():
        model = replace(network(task.vocabulary), hidden_size=width)
        each = speed.step_seconds(model, length)
        steps = int(TRAINING * task.seconds / each)
        memory = TrainingShape(model, MOMENTS, lanes, length, task.precision, on_gpu=False).most
        if steps >= worth and (task.free is None or memory < _FILLED * task.free):
            break
    steps = max(_LEAST_STEPS, 10 * (steps // 10))
    read = steps * lanes * length
    return Recommendation(
        keys={
            "data.split": _split(task, each / (lanes * length)),
            **_keys(task, model, steps, read / task.symbols),
        },
        model=model,
        steps=steps,
        read=read,
        seconds=steps * each,
        epochs=read / task.symbols,
        memory=memory,
        expected=expected_loss(task.kind, task.baseline, read, task.symbols, task.vocabulary),
    )


def _split(task: Task, seconds: float) -> list[float] | None:
    """Shares with a smaller validation part where that is due; `seconds` train a symbol."""
    if task.split is None:
        return None
    training, validation, test = task.split
    whole = task.symbols / training
    scored = (1 - TRAINING) * task.seconds / _VALIDATIONS / (_SCORING * seconds)
    if validation * whole <= max(_TOLERATED * scored, _LEAST_SCORED):
        return None
    share = float(f"{max(scored, _LEAST_SCORED) / whole:.2g}")
    return [round(1 - share - test, 9), share, test]


def _keys(task: Task, model: ModelConfig, steps: int, epochs: float) -> dict[str, Any]:
    """The keys of the training, of which a recipe may have some already."""
    shares = {name: share if epochs >= _OFTEN else 0.0 for name, share in _DROPPED.items()}
    return {
        "model.num_layers": model.num_layers,
        "model.hidden_size": model.hidden_size,
        "model.skip_connections": model.skip_connections,
        "model.input": model.input,
        "model.embedding_size": model.embedding_size if model.input == "embedding" else None,
        **{f"model.{name}": share for name, share in shares.items()},
        "optimizer.lr": 0.01,
        "optimizer.schedule": "constant",
        "optimizer.warmup_steps": min(100, int(_WARM_UP * steps)),
        "train.batch_size": LANES[task.kind],
        "train.sequence_length": STEPS[task.kind],
        "train.average": 0.998 if steps > _MANY_STEPS else 0.995,
        "train.calibrate": True,
        "train.shift_lanes": True,
        "train.max_steps": steps,
        "train.validate_every": max(1, -(-steps // _VALIDATIONS)),
    }
