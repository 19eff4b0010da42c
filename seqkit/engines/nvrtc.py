"""CUDA C++ compiled at run time by NVRTC, which PyTorch's CUDA wheels bring along.

Neither nvcc nor a C compiler is needed, and nothing is compiled at install. The functions used are
those of NVRTC's and the CUDA driver's C interface, called through ctypes.
"""

import ctypes
from pathlib import Path

import torch

from seqkit.errors import DeviceError

_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_LOCAL = 3  # CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES


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

    def spilled(self) -> int:
        """Bytes of registers a thread that did not fit."""
        found = ctypes.c_int()
        self._check(self._cuda.cuFuncGetAttribute(ctypes.byref(found), _LOCAL, self._function))
        return found.value

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
