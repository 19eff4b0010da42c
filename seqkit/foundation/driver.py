"""The device of a command: NVIDIA's driver tells of GPUs before PyTorch is there."""

import contextlib
import ctypes
import threading

from seqkit.foundation.machine import HOST, Device


def wake(device: str, local_rank: int) -> None:
    """Let the driver set up the GPU that `device` names, in a thread beside PyTorch's import.

    Each takes about a second, and PyTorch uses the context that it then finds. Where there is no
    such GPU nothing happens: whoever chooses the device says why.
    """
    kind, _, number = device.partition(":")
    if kind in ("auto", "cuda") and (not number or number.isdecimal()):
        wanted = int(number or local_rank)
        threading.Thread(target=_set_up, args=(wanted,), daemon=True).start()


def find_device(name: str, *, for_all: bool = False) -> Device:
    """See `device.find_device`, and its errors; a CPU is found without PyTorch."""
    if name == "cpu" or (name == "auto" and not has_gpu()):
        return HOST
    from seqkit.foundation import device

    return device.find_device(name, for_all=for_all)


def has_gpu() -> bool:
    """Whether the driver is there, and shows a GPU to this process."""
    count = ctypes.c_int()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        failed = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
        return not failed and count.value > 0
    except (OSError, AttributeError):
        return False


def _set_up(number: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        driver = ctypes.CDLL("libcuda.so.1")  # whose calls let other threads of Python run
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if not driver.cuInit(0) and not driver.cuDeviceGet(ctypes.byref(device), number):
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
