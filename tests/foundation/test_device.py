"""What is set up for the whole process."""

from typing import Any

import numpy as np
import pytest
import torch

from seqkit.foundation import device
from seqkit.foundation.device import exact_fp32
from seqkit.foundation.errors import DeviceError
from seqkit.lstm import KernelError


def precisions() -> tuple[str, str]:
    """What fp32 means now, in cuDNN's LSTM and in products."""
    rnn: Any = torch.backends.cudnn.rnn
    return rnn.fp32_precision, torch.backends.cuda.matmul.fp32_precision


def test_fp32_is_exact_in_a_block_and_then_as_it_was() -> None:
    before = precisions()
    with exact_fp32():
        assert precisions() == ("ieee", "ieee")
    assert precisions() == before


@pytest.mark.parametrize("outer", [torch.inference_mode, torch.no_grad])
def test_a_training_takes_gradients_whatever_is_around_it(outer: type) -> None:
    with outer():
        with device.settings_of_training(torch.device("cpu"), deterministic=False):
            assert precisions() == ("ieee", "ieee")
            weight = torch.ones(1, requires_grad=True)
            assert torch.autograd.grad(weight.square(), weight)[0] == 2
        assert not torch.is_grad_enabled()
    assert precisions() != ("ieee", "ieee")


@pytest.mark.gpu
def test_to_find_a_gpu_sets_nothing() -> None:
    before = torch.cuda.current_device(), precisions()
    last = torch.cuda.device_count() - 1
    assert device.find_device(f"cuda:{last}") == torch.device("cuda", last)
    assert (torch.cuda.current_device(), precisions()) == before


def test_memory_that_numpy_does_not_get_is_told_with_advice() -> None:
    told = pytest.raises(DeviceError, match=r"Unable to allocate.*Try fewer streams")
    with told, device.memory_errors("Try fewer streams"):
        np.zeros(1 << 59)


def test_a_kernel_that_the_gpu_refuses_is_told_in_its_words() -> None:
    told = pytest.raises(DeviceError, match=r"^the GPU refuses the kernel: misaligned$")
    with told, device.memory_errors("Try fewer streams"):
        raise KernelError("the GPU refuses the kernel: misaligned")
