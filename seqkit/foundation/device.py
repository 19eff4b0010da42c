"""Choosing a device, and the precision that suits it."""

import contextlib
import ctypes
import os
import platform
import threading
from collections.abc import Iterator
from typing import Any

import torch

import seqkit
from seqkit.foundation import machine
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.foundation.processes import Rank
from seqkit.foundation.wording import counted

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt, from malloc.h
_LARGE = 1 << 30  # bytes
_FULL = "Another program fills the GPU (nvidia-smi tells which): end it, or give device=cpu"
_EXACT = ("ieee", "ieee")


def find_device(name: str, *, for_all: bool = False) -> torch.device:
    """The device for auto, cpu, cuda or cuda:N.

    `for_all`: for all that this process does. It becomes the current GPU, and fp32 means fp32.

    Raises:
        ConfigError: any other name.
        DeviceError: no such GPU, or one whose results cannot be trusted.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    kind, _, number = name.partition(":")
    if kind == "mps":
        raise DeviceError(
            f"device={name}: PyTorch's LSTM has given wrong results on Apple's GPUs, without an "
            "error: give device=cpu"
        )
    if kind == "cpu" and not number:
        return torch.device("cpu")
    if kind != "cuda" or (":" in name and not number.isdecimal()):
        raise ConfigError(f"device={name}: choose auto, cpu, cuda or cuda:N")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    index = int(number or 0)
    if index >= count:
        gpus = f"{counted(count, 'GPU')}, cuda:0 to cuda:{count - 1}," if count else "no GPU"
        raise DeviceError(f"device={name}: PyTorch finds {gpus} on this machine; try device=auto")
    device = torch.device("cuda", index)
    with machine.memory_errors(_FULL):
        torch.cuda.synchronize(device)  # which sets it up
    if for_all:
        torch.cuda.set_device(device)
        set_fp32(*_EXACT)
    return device


def of_rank(name: str, rank: Rank) -> str:
    """The name of this process's device, where several processes share the GPUs of a machine.

    Raises:
        ConfigError: one GPU for all of them.
        DeviceError: fewer GPUs than processes.
    """
    if rank.size == 1 or name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return name
    if name.startswith("cuda:") and rank.local_size > 1:
        raise ConfigError(
            f"device={name}: {rank.local_size} processes on this machine take a GPU each: leave "
            "it out"
        )
    if name not in ("auto", "cuda"):
        return name
    count = torch.cuda.device_count()
    if count < rank.local_size:
        raise DeviceError(
            f"{rank.local_size} processes on this machine and {counted(count, 'GPU')}: give "
            f"--nproc-per-node={count}, or device=cpu"
        )
    return f"cuda:{rank.local_number}"


def set_fp32(lstm: str, products: str) -> tuple[str, str]:
    """Set what fp32 means on GPUs, ieee or tf32, in cuDNN's LSTM and in products; what it meant."""
    rnn: Any = torch.backends.cudnn.rnn
    matmul = torch.backends.cuda.matmul
    before = rnn.fp32_precision, matmul.fp32_precision
    rnn.fp32_precision, matmul.fp32_precision = lstm, products
    return before


class _ExactFp32(contextlib.AbstractContextManager[None]):
    """Lets fp32 mean fp32 on GPUs in a block: PyTorch's LSTM would use TF32.

    That is a setting of the whole process. Blocks may overlap in several threads: the last one to
    end leaves it as the first one found it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks = 0
        self._before = _EXACT

    def __enter__(self) -> None:
        with self._lock:
            if not self._blocks:
                self._before = set_fp32(*_EXACT)
            self._blocks += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._blocks -= 1
            if not self._blocks:
                set_fp32(*self._before)


exact_fp32 = _ExactFp32()
"""The one of this process."""


def describe(device: torch.device, rank: Rank | None = None) -> str:
    """The device in words, for logs and summaries; with a `rank`, those of all processes."""
    threads = torch.get_num_threads()
    name = f"cpu ({threads} thread{'s' if threads > 1 else ''})"
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    return name if rank is None or rank.size == 1 else f"{rank.size} × {name}"


def versions() -> dict[str, str]:
    """The versions of what computes."""
    return {
        "seqkit": seqkit.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def has_fast_bf16() -> bool:
    """Whether this processor multiplies bfloat16 in hardware."""
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_tile"))


def candidate_precisions(name: str, device: torch.device) -> list[str]:
    """fp32, bf16 or fp16, from which a training may choose, the plainest first.

    auto takes those in which the device runs an LSTM fastest: cuDNN's persistent LSTM kernels are
    fp16 only. Processors with AVX512-BF16 or AMX multiply bf16 about twice as fast as fp32; others
    only emulate it.

    Raises:
        ConfigError: fp16 on a CPU.
    """
    if name == "fp16" and device.type == "cpu":
        raise ConfigError("train.precision=fp16: a CPU trains in bf16 or fp32")
    if name != "auto":
        return [name]
    if device.type == "cuda":
        return ["fp16", "bf16"]
    return ["bf16" if has_fast_bf16() else "fp32"]


def set_deterministic(wanted: bool) -> None:
    """Use only operations that repeat to the bit, or any. Call it before anything runs on a GPU."""
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if wanted != torch.are_deterministic_algorithms_enabled():  # which imports PyTorch's compiler
        torch.use_deterministic_algorithms(wanted)


@contextlib.contextmanager
def settings_of_training(device: torch.device, deterministic: bool) -> Iterator[None]:
    """Set this process up for training, and give it back as it was.

    The C library goes on keeping freed memory on a CPU: that cannot be taken back.
    """
    before = torch.are_deterministic_algorithms_enabled()
    current = torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()
    with current, exact_fp32, torch.inference_mode(False):
        set_deterministic(deterministic or before)
        if device.type == "cpu":
            _keep_memory()
        try:
            yield
        finally:
            set_deterministic(before)


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
