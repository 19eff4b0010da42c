"""What a checkpoint keeps of a training, checked before the training goes on with it."""

from collections.abc import Mapping

from torch import Tensor


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
