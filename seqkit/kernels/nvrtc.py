"""CUDA kernels, compiled by NVRTC and launched with arguments that Python has by name.

PyTorch's CUDA wheels include NVRTC, so neither nvcc nor a C compiler is needed and nothing is
compiled at install. Both libraries are called through ctypes, by their C interfaces.
"""

import ctypes
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seqkit.foundation.errors import DeviceError
from seqkit.kernels.cubins import kept

Value = Tensor | float | None | Mapping[str, float] | Sequence[Tensor] | Sequence[int]
"""A pointer's tensor (None for null), a number, the members of a struct, or those of an array."""

_NUMBERS: dict[str, Any] = {
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "long long": ctypes.c_longlong,
    "float": ctypes.c_float,
}


def parameter_of(kernel: str, source: str, constants: Mapping[str, int]) -> type[ctypes.Structure]:
    """The type of the kernel's only parameter, which is a struct.

    Args:
        kernel: the name of the `extern "C"` function.
        source: CUDA C++, with the struct, and those in it, at the beginning of a line.
        constants: the macros that the length of an array may be.
    """
    found = re.search(rf"\b{kernel}\((?:const )?(\w+) \w+\)", source)
    if found is None:
        raise ValueError(f"no kernel {kernel} that takes a struct")
    return _struct(found[1], source, constants)


def filled(struct: type[ctypes.Structure], values: Mapping[str, Value]) -> ctypes.Structure:
    """The struct with these values of its members.

    Raises:
        TypeError: a member lacks its value, a value is that of no member or of another type.
    """
    members = {name: kind for name, kind, *_ in struct._fields_}
    if others := members.keys() ^ values.keys():
        raise TypeError(f"{', '.join(sorted(others))}: a kernel takes {', '.join(members)}")
    return struct(**{name: _converted(kind, values[name]) for name, kind in members.items()})


def _struct(name: str, source: str, constants: Mapping[str, int]) -> type[ctypes.Structure]:
    """A struct of the source as ctypes has it."""
    body = re.search(rf"^struct {name} {{\n(.*?)\n}};", source, re.DOTALL | re.MULTILINE)
    if body is None:
        raise ValueError(f"no struct {name}")
    fields: list[tuple[str, Any]] = []
    for declaration in re.sub("//.*", "", body[1]).split(";")[:-1]:
        number = ""
        for part in declaration.split(","):
            *words, member = re.findall(r"\w+|\*", part.split("[")[0])
            number = " ".join(word for word in words if word not in ("const", "*")) or number
            if "*" in words:
                kind: Any = ctypes.c_void_p
            else:
                kind = _NUMBERS.get(number) or _struct(number, source, constants)
            if length := re.search(r"\[(\w+)\]", part):
                kind *= constants[length[1]]
            fields.append((member, kind))
    return type(name, (ctypes.Structure,), {"_fields_": fields})


def _converted(kind: Any, value: Value) -> object:
    """A value as ctypes takes it."""
    if isinstance(value, Tensor):
        return value.data_ptr()
    if isinstance(value, Mapping):
        return filled(kind, value)
    if isinstance(value, Sequence):
        return kind(*(_converted(None, item) for item in value))
    return value


HOPPER = Path(__file__).with_name("hopper.cu")
"""What sources for Hopper GPUs share; it comes first."""

NUMBERS = Path(__file__).with_name("numbers.cu")
"""What sources share that store numbers of any dtype; it needs the constant DTYPE."""

_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_LARGE_CLUSTERS = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
_CLUSTER = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute, as far as it is used here: the size of a cluster."""

    _fields_ = (
        ("id", ctypes.c_int),
        ("padding", ctypes.c_char * 4),
        ("cluster", ctypes.c_uint * 3),
        ("rest", ctypes.c_char * 52),
    )


class _Shape(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


class Kernel:
    """One kernel, compiled for and loaded on one GPU."""

    def __init__(
        self,
        name: str,
        *,
        sources: Sequence[Path | str],
        constants: Mapping[str, int],
        device: torch.device,
        exact: bool = False,
    ) -> None:
        """Compile the kernel `name`.

        Args:
            name: of the `extern "C"` function.
            sources: files, or CUDA C++ as text; they are compiled as one, in this order.
            constants: macros to define.
            device: the GPU to compile for and load onto.
            exact: use instructions that only this architecture has, and no later one (sm_90a).

        Raises:
            DeviceError: this PyTorch has no NVRTC, the code does not compile, or the GPU refuses
                it.
        """
        texts = [source.read_text() if isinstance(source, Path) else source for source in sources]
        source = "\n".join(texts)
        self._parameter = parameter_of(name, source, constants)
        with torch.cuda.device(device):
            torch.cuda.current_stream().synchronize()  # makes PyTorch's context the current one
            self._libraries()
            options = [f"--gpu-architecture={_architecture(device, exact)}", "--std=c++17"]
            options += [f"-D{key}={int(value)}" for key, value in constants.items()]
            major, minor = ctypes.c_int(), ctypes.c_int()
            self._nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
            made_of = [f"NVRTC {major.value}.{minor.value}", *options, source]
            code = kept(made_of, lambda: self._compile(name, source, options))
            module = ctypes.c_void_p()
            self._function = ctypes.c_void_p()
            self._check(self._cuda.cuModuleLoadData(ctypes.byref(module), code))
            self._check(
                self._cuda.cuModuleGetFunction(
                    ctypes.byref(self._function), module, ctypes.c_char_p(name.encode())
                )
            )

    def reserve(self, shared: int, *, large_clusters: bool = False) -> None:
        """Allow launches with up to `shared` bytes of dynamic shared memory a block.

        `large_clusters`: allow clusters of more than 8 blocks, too.

        Raises:
            DeviceError: the GPU has less, or no such clusters.
        """
        self._check(self._cuda.cuFuncSetAttribute(self._function, _DYNAMIC_SHARED, shared))
        if large_clusters:
            self._check(self._cuda.cuFuncSetAttribute(self._function, _LARGE_CLUSTERS, 1))

    def clusters_at_once(self, *, cluster: int, threads: int, shared: int) -> int:
        """How many clusters of so many blocks the GPU runs at the same time; 0 if it cannot.

        `threads` and `shared` are those of a block.
        """
        count = ctypes.c_int()
        shape = _shape(cluster, threads, shared, cluster)
        failed = self._cuda.cuOccupancyMaxActiveClusters(
            ctypes.byref(count), self._function, ctypes.byref(shape)
        )
        return 0 if failed else count.value

    def launch(
        self,
        arguments: Mapping[str, Value],
        *,
        blocks: int,
        threads: int,
        shared: int = 0,
        cooperative: bool = False,
        cluster: int = 0,
    ) -> None:
        """Queue a launch on PyTorch's current stream.

        Args:
            arguments: the members of the kernel's one parameter, a struct, by their names.
            blocks: in the grid, which has one dimension.
            threads: in a block.
            shared: bytes of dynamic shared memory a block; see `reserve`.
            cooperative: refuse the launch unless all blocks fit on the GPU at the same time.
            cluster: blocks of a thread-block cluster; 0 for none.

        Raises:
            DeviceError: the GPU refuses the launch.
        """
        parameter = ctypes.pointer(filled(self._parameter, arguments))
        packed = (ctypes.c_void_p * 1)(ctypes.cast(parameter, ctypes.c_void_p))
        if cluster:
            config = ctypes.byref(_shape(blocks, threads, shared, cluster))
            self._check(self._cuda.cuLaunchKernelEx(config, self._function, packed, None))
            return
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        shape = (blocks, 1, 1, threads, 1, 1, shared, stream, packed)
        if cooperative:
            self._check(self._cuda.cuLaunchCooperativeKernel(self._function, *shape))
        else:
            self._check(self._cuda.cuLaunchKernel(self._function, *shape, None))

    def _libraries(self) -> None:
        # PyTorch's stub links both libraries and knows where the wheel keeps them.
        stub = Path(torch.__file__).parent / "lib" / "libcaffe2_nvrtc.so"
        try:
            self._nvrtc = self._cuda = ctypes.CDLL(str(stub))
            self._nvrtc.nvrtcCompileProgram, self._cuda.cuLaunchKernel  # noqa: B018
        except (OSError, AttributeError) as error:
            raise DeviceError(f"this PyTorch has no NVRTC: {error}") from error

    def _compile(self, name: str, text: str, options: Sequence[str]) -> bytes:
        """The machine code (a cubin)."""
        packed = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        handle = ctypes.byref(program)
        source, file = text.encode(), f"{name}.cu".encode()
        named_source = ctypes.c_char_p(source), ctypes.c_char_p(file)
        if self._nvrtc.nvrtcCreateProgram(handle, *named_source, 0, None, None):
            raise DeviceError("NVRTC cannot start")
        try:
            if self._nvrtc.nvrtcCompileProgram(program, len(options), packed):
                self._nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
                log = ctypes.create_string_buffer(size.value)
                self._nvrtc.nvrtcGetProgramLog(program, log)
                first = next((line for line in log.value.decode().splitlines() if line), "no log")
                raise DeviceError(f"NVRTC cannot compile with {options[0]}: {first}")
            self._nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
            code = ctypes.create_string_buffer(size.value)
            self._nvrtc.nvrtcGetCUBIN(program, code)
            return code.raw
        finally:
            self._nvrtc.nvrtcDestroyProgram(handle)

    def _check(self, result: int) -> None:
        if result:
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorString(result, ctypes.byref(text))
            said = (text.value or b"unknown error").decode()
            raise DeviceError(f"the GPU refuses the kernel: {said}")


def dtype_number(dtype: torch.dtype) -> int:
    """The constant DTYPE of numbers.cu."""
    return (torch.float32, torch.float16, torch.bfloat16).index(dtype)


def _architecture(device: torch.device, exact: bool) -> str:
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}{'a' if exact else ''}"


def _shape(blocks: int, threads: int, shared: int, cluster: int) -> _Shape:
    """Of a launch in clusters on PyTorch's current stream."""
    attribute = _Attribute(id=_CLUSTER, cluster=(cluster, 1, 1))
    stream = torch.cuda.current_stream().cuda_stream
    return _Shape((blocks, 1, 1), (threads, 1, 1), shared, stream, ctypes.pointer(attribute), 1)
