"""NVIDIA's driver, called before PyTorch is there."""

import contextlib
import ctypes
import threading


def wake(device: str, local_rank: int) -> None:
    """Let the driver set up the GPU that `device` names, in a thread beside PyTorch's import.

    Each takes about a second, and PyTorch uses the context that it then finds. Where there is no
    such GPU nothing happens: whoever chooses the device says why.
    """
    kind, _, number = device.partition(":")
    if kind in ("auto", "cuda") and (not number or number.isdecimal()):
        wanted = int(number or local_rank)
        threading.Thread(target=_set_up, args=(wanted,), daemon=True).start()


def _set_up(number: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        driver = ctypes.CDLL("libcuda.so.1")  # whose calls let other threads of Python run
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if not driver.cuInit(0) and not driver.cuDeviceGet(ctypes.byref(device), number):
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
