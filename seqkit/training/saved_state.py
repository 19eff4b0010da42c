"""What a checkpoint keeps of a training, checked before the training goes on with it."""

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any, TypeVar

from torch import Tensor

from seqkit.foundation.settings import check_type
from seqkit.training.progress import TrainingProgress
from seqkit.training.schedule import Spent

Record = TypeVar("Record")
_MOST = 2.0**53  # steps, symbols, seconds: beyond it a float does not count on
_LONGEST = 40  # characters of a wrong number in a message
_ANY_SIGN = ("best_loss",)  # of one that is all but 0, rounding may decide
_OF_KEYS = ("budget",)  # seconds that train.max_minutes gave, however many


def read_numbers(values: Mapping[str, Any]) -> tuple[TrainingProgress, Spent]:
    """How far a training has come and what time it took, from the values of its state.

    Raises:
        ConfigError: a value of another type.
        ValueError: a number that is not finite, below 0, or beyond all that is ever counted.
    """
    progress = _read(TrainingProgress, "progress", values.get("progress"))
    # Before 0.2.0 only the time of the steps themselves was recorded.
    return progress, _read(Spent, "time", values.get("time", {"seconds": progress.seconds}))


def _read(kind: type[Record], name: str, values: Any) -> Record:
    """The record in these values; what it does not have, from other versions, is passed over."""
    check_type(name, values, dict)
    names = {item.name for item in dataclasses.fields(kind)}  # type: ignore[arg-type]
    made = kind(**{key: value for key, value in values.items() if key in names})
    for item in dataclasses.fields(made):  # type: ignore[arg-type]
        value = getattr(made, item.name)
        check_type(f"{name}.{item.name}", value, item.type)
        least = -_MOST if item.name in _ANY_SIGN else 0
        most = sys.float_info.max if item.name in _OF_KEYS else _MOST
        if isinstance(value, int | float) and not least <= value <= most:
            raise ValueError(
                f"{name}.{item.name}={str(value)[:_LONGEST]} is no number of a training"
            )
    return made


def require_tensors(saved: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Check that tensors are there, each of the shape and dtype of the one that it is to become.

    Others are passed over. PyTorch would broadcast a smaller one, and the fused optimizers would
    write beyond its end.

    Raises:
        ValueError: one is missing, or another one.
    """
    for name, own in wanted.items():
        if name not in saved:
            raise ValueError(f"{name} is missing")
        given = saved[name]
        if (given.shape, given.dtype) != (own.shape, own.dtype):
            raise ValueError(f"{name} is {_kind(given)}, and has to be {_kind(own)}")


def _kind(tensor: Tensor) -> str:
    return f"{tuple(tensor.shape)} in {str(tensor.dtype).removeprefix('torch.')}"
