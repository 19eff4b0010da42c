"""What the GPU engines share: kernels compiled at run time, the draw's rule, copies to the host.

Kernels are CUDA C++ compiled by NVRTC, which PyTorch's CUDA wheels bring along: neither nvcc nor a
C compiler is needed, and nothing is compiled at install. The functions used are those of NVRTC's
and the CUDA driver's C interface, called through ctypes.
"""

import ctypes
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from seqkit.errors import DeviceError
from seqkit.generation.sampling import Sampling
from seqkit.symbols import Integers

_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class Kernel:
    """One kernel on one GPU."""

    def __init__(
        self, sources: list[str], name: str, constants: dict[str, int], device: torch.device
    ) -> None:
        """Compile `name` from this package's source files, with macros as constants.

        Raises:
            DeviceError: there is no NVRTC, or the GPU refuses the code.
        """
        with torch.cuda.device(device):
            torch.cuda.current_stream().synchronize()  # makes PyTorch's context the current one
            self._libraries()
            code = self._compile(sources, constants, device)
            module = ctypes.c_void_p()
            self._function = ctypes.c_void_p()
            self._check(self._cuda.cuModuleLoadData(ctypes.byref(module), code))
            self._check(
                self._cuda.cuModuleGetFunction(
                    ctypes.byref(self._function), module, ctypes.c_char_p(name.encode())
                )
            )

    def reserve(self, shared: int) -> None:
        """Allow a launch with so many bytes of shared memory."""
        self._check(self._cuda.cuFuncSetAttribute(self._function, _DYNAMIC_SHARED, shared))

    def launch(
        self,
        blocks: int,
        threads: int,
        arguments: ctypes.Structure,
        shared: int = 0,
        cooperative: bool = False,
    ) -> None:
        """Queue a launch on PyTorch's current stream.

        A cooperative one is refused unless all blocks can be on the GPU at the same time.
        """
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        packed = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(arguments), ctypes.c_void_p))
        shape = (blocks, 1, 1, threads, 1, 1, shared, stream, packed)
        if cooperative:
            self._check(self._cuda.cuLaunchCooperativeKernel(self._function, *shape))
        else:
            self._check(self._cuda.cuLaunchKernel(self._function, *shape, None))

    def _libraries(self) -> None:
        # PyTorch's own stub is linked to both libraries and knows where its wheel keeps them.
        stub = Path(torch.__file__).parent / "lib" / "libcaffe2_nvrtc.so"
        try:
            self._nvrtc = self._cuda = ctypes.CDLL(str(stub))
            self._nvrtc.nvrtcCompileProgram, self._cuda.cuLaunchKernel  # noqa: B018
        except (OSError, AttributeError) as error:
            raise DeviceError(f"this PyTorch brings no NVRTC: {error}") from error

    def _compile(
        self, sources: list[str], constants: dict[str, int], device: torch.device
    ) -> ctypes.Array[ctypes.c_char]:
        folder = Path(__file__).parent
        text = "\n".join((folder / source).read_text() for source in sources)
        major, minor = torch.cuda.get_device_capability(device)
        options = [f"--gpu-architecture=sm_{major}{minor}", "--std=c++17"]
        options += [f"-D{key}={int(value)}" for key, value in constants.items()]
        packed = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        handle = ctypes.byref(program)
        source, name = ctypes.c_char_p(text.encode()), ctypes.c_char_p(sources[-1].encode())
        if self._nvrtc.nvrtcCreateProgram(handle, source, name, 0, None, None):
            raise DeviceError("NVRTC cannot start")
        try:
            if self._nvrtc.nvrtcCompileProgram(program, len(options), packed):
                self._nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
                log = ctypes.create_string_buffer(size.value)
                self._nvrtc.nvrtcGetProgramLog(program, log)
                first = next((line for line in log.value.decode().splitlines() if line), "no log")
                raise DeviceError(f"NVRTC cannot compile for sm_{major}{minor}: {first}")
            self._nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
            code = ctypes.create_string_buffer(size.value)
            self._nvrtc.nvrtcGetCUBIN(program, code)
            return code
        finally:
            self._nvrtc.nvrtcDestroyProgram(handle)

    def _check(self, result: int) -> None:
        if result:
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorString(result, ctypes.byref(text))
            said = (text.value or b"unknown error").decode()
            raise DeviceError(f"the GPU refuses the kernel: {said}")


class Rule(ctypes.Structure):
    """draw.cu's struct of that name."""

    _fields_ = (
        ("inverse_temperature", ctypes.c_float),
        ("top_p", ctypes.c_float),
        ("top_k", ctypes.c_int),
        ("greedy", ctypes.c_int),
    )


def rule_of(sampling: Sampling, size: int) -> Rule:
    """Sampling among `size` symbols as draw.cu reads it."""
    greedy = sampling.temperature == 0
    return Rule(
        0.0 if greedy else 1 / sampling.temperature,
        1.0 if sampling.top_p is None else sampling.top_p,
        size if sampling.top_k is None else min(sampling.top_k, size),
        greedy,
    )


class Copy:
    """A tensor on its way to the host, beside what the GPU runs next."""

    def __init__(self, tensor: Tensor, stream: torch.cuda.Stream) -> None:
        """Copies on `stream` what the current stream will have made."""
        self._host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        stream.wait_stream(torch.cuda.current_stream(tensor.device))
        with torch.cuda.stream(stream):
            self._host.copy_(tensor, non_blocking=True)
            tensor.record_stream(stream)
            self._done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._done.record()

    def wait(self) -> Integers:
        """The values, once they are there."""
        self._done.synchronize()
        return self._host.numpy().astype(np.int64)
