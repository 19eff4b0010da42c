"""The device of a command, and what PyTorch does there.

PyTorch takes a second to import, and a command that runs on a CPU by itself does without: so it is
imported by what needs it, and NVIDIA's driver tells of GPUs before.
"""

import contextlib
import ctypes
import os
import platform
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Union

import seqkit
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.foundation.processes import ALONE, Rank
from seqkit.foundation.wording import counted

if TYPE_CHECKING:
    import torch

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt, from malloc.h
_LARGE = 1 << 30  # bytes
_FULL = "Another program fills the GPU (nvidia-smi tells which): end it, or give device=cpu"
_EXACT = ("ieee", "ieee")
_NO_MEMORY = (  # in messages of errors that are no OutOfMemoryError
    *("can't allocate memory", "Storage size calculation overflowed"),
    *("CUDA error: out of memory", "STATUS_ALLOC_FAILED"),
)


class Host(str):
    """The name of the CPU as a device: PyTorch takes it for its own, and need not be there."""

    __slots__ = ()
    type = "cpu"


HOST = Host("cpu")
"""The machine's own processor and memory."""
Device = Union["torch.device", Host]


def wake(device: str, local_rank: int) -> None:
    """Let the driver set up the GPU that `device` names, in a thread beside PyTorch's import.

    Each takes about a second, and PyTorch uses the context that it then finds. Where there is no
    such GPU nothing happens: whoever chooses the device says why.
    """
    kind, _, number = device.partition(":")
    if kind in ("auto", "cuda") and (not number or number.isdecimal()):
        wanted = int(number or local_rank)
        threading.Thread(target=_set_up, args=(wanted,), daemon=True).start()


def find_device(name: str, rank: Rank = ALONE, *, for_all: bool = False) -> Device:
    """The device for auto, cpu, cuda or cuda:N; a CPU is found without PyTorch.

    Of processes on one machine each takes a GPU of its own for auto and cuda. If it is `for_all`
    that this process does, it becomes the current GPU, and fp32 means fp32.

    Raises:
        ConfigError: any other name, or one GPU for several processes.
        DeviceError: no such GPU, or too few.
    """
    if name == "cpu" or (name == "auto" and not has_gpu()):
        return HOST
    kind, _, number = name.partition(":")
    if name not in ("auto", "cuda") and not (kind == "cuda" and number.isdecimal()):
        raise ConfigError(f"device={name}: choose auto, cpu, cuda or cuda:N")
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto" and not count:  # the driver finds a GPU, and this PyTorch does not
        return HOST
    if number and rank.local_size > 1:
        raise ConfigError(
            f"device={name}: {rank.local_size} processes on this machine take a GPU each: leave "
            "it out"
        )
    if 0 < count < rank.local_size:
        raise DeviceError(
            f"{rank.local_size} processes on this machine and {counted(count, 'GPU')}: give "
            f"--nproc-per-node={count}, or device=cpu"
        )
    index = int(number or rank.local_number)
    if index >= count:
        gpus = f"{counted(count, 'GPU')}, cuda:0 to cuda:{count - 1}," if count else "no GPU"
        raise DeviceError(f"device={name}: PyTorch finds {gpus} on this machine; try device=auto")
    device = torch.device("cuda", index)
    with memory_errors(_FULL):
        torch.cuda.synchronize(device)  # which sets it up
    if for_all:
        torch.cuda.set_device(device)
        set_fp32(*_EXACT)
    return device


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


@contextlib.contextmanager
def memory_errors(advice: str) -> Iterator[None]:
    """Turn errors of memory that runs out into a DeviceError that says what to do.

    Of a kernel that the GPU refuses, the DeviceError says what the GPU does.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        # The rest of the message of PyTorch's own error is about its allocator.
        reason = str(error).partition("\n")[0].partition(" Including non-PyTorch")[0]
        kind = type(error).__name__
        if kind == "KernelError":
            raise DeviceError(reason) from error
        known = kind == "OutOfMemoryError" or isinstance(error, MemoryError)  # NumPy's
        if not known and not any(sign in str(error) for sign in _NO_MEMORY):
            raise
        raise DeviceError(f"out of memory: {reason} {advice}") from error


def set_fp32(lstm: str, products: str) -> tuple[str, str]:
    """Set what fp32 means on GPUs, ieee or tf32, in cuDNN's LSTM and in products; what it meant."""
    import torch

    rnn: Any = torch.backends.cudnn.rnn
    matmul = torch.backends.cuda.matmul
    before = rnn.fp32_precision, matmul.fp32_precision
    rnn.fp32_precision, matmul.fp32_precision = lstm, products
    return before


@contextlib.contextmanager
def exact_fp32() -> Iterator[None]:
    """Let fp32 mean fp32 on GPUs in a block, for the whole process: an LSTM would use TF32.

    Blocks of several threads must not overlap: the first to end would end it for all.
    """
    before = set_fp32(*_EXACT)
    try:
        yield
    finally:
        set_fp32(*before)


def describe(device: Device, rank: Rank = ALONE) -> str:
    """The device in words, for logs and summaries; of several processes, those of all."""
    import torch

    threads = torch.get_num_threads()
    name = f"cpu ({threads} thread{'s' if threads > 1 else ''})"
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    return name if rank.size == 1 else f"{rank.size} × {name}"


def versions() -> dict[str, str]:
    """The versions of what computes."""
    import torch

    return {
        "seqkit": seqkit.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def has_fast_bf16() -> bool:
    """Whether this processor multiplies bfloat16 in hardware."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_tile"))


def candidate_precisions(name: str, device: Device) -> list[str]:
    """fp32, bf16 or fp16, from which a training may choose, the plainest first.

    auto takes those in which the device runs an LSTM fastest: cuDNN's persistent LSTM kernels are
    fp16 only. Processors with AVX512-BF16 or AMX multiply bf16 about twice as fast as fp32; others
    only emulate it.

    Raises ConfigError: fp16 on a CPU.
    """
    if name == "fp16" and device.type == "cpu":
        raise ConfigError("train.precision=fp16: a CPU trains in bf16 or fp32")
    if name != "auto":
        return [name]
    if device.type == "cuda":
        return ["fp16", "bf16"]
    return ["bf16" if has_fast_bf16() else "fp32"]


@contextlib.contextmanager
def settings_of_training(device: Device, deterministic: bool) -> Iterator[None]:
    """Set this process up for training, and give it back as it was.

    The C library goes on keeping freed memory on a CPU: that cannot be taken back.
    """
    import torch

    before = torch.are_deterministic_algorithms_enabled()
    changes = deterministic and not before  # a change imports PyTorch's compiler
    if deterministic or before:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    current = torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()
    with current, exact_fp32(), torch.inference_mode(False):
        if changes:
            torch.use_deterministic_algorithms(True)
        if device.type == "cpu":
            _keep_memory()
        try:
            yield
        finally:
            if changes:
                torch.use_deterministic_algorithms(False)


def _keep_memory() -> None:
    """Let glibc keep memory that is freed.

    By default it returns large blocks to the kernel. A training step on a CPU asks for the same
    blocks again, and the kernel zeroes every page of them: up to half of the step's time.
    """
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        # A glibc that refuses the first option does better without the second, too.
        if library.mallopt(_MMAP_THRESHOLD, _LARGE):
            library.mallopt(_TRIM_THRESHOLD, _LARGE)
