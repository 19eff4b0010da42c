"""CUDA kernels, compiled by NVRTC and launched with arguments that Python has by name.

PyTorch's CUDA wheels bring NVRTC and `cuda.bindings` along, so neither nvcc nor a C compiler is
needed and nothing is compiled at install. They are imported when the first kernel is made. Machine
code is kept in the user's cache, so that the next process need not compile it again.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

Value = Tensor | float | None | dict[str, float]
"""A pointer's tensor (None for null), a number, or the members of a struct."""

_DTYPES = (torch.float32, torch.float16, torch.bfloat16)  # as numbers.cu counts them
_DIGEST = hashlib.sha256().digest_size
_POINTER = np.uint64
_NUMBERS = {"int": np.int32, "unsigned": np.uint32, "long long": np.int64, "float": np.float32}


class KernelError(RuntimeError):
    """A kernel that cannot be compiled here, or that the GPU refuses."""


def parameter_of(kernel: str, source: str) -> np.dtype[np.void]:
    """The type of the kernel's only parameter, which is a struct.

    Args:
        kernel: the name of the `extern "C"` function.
        source: CUDA C++, with the struct, and those in it, at the beginning of a line.
    """
    match = re.search(rf"\b{kernel}\((?:const )?(\w+) \w+\)", source)
    if match is None:
        raise ValueError(f"no kernel {kernel} that takes a struct")
    return _struct(match[1], source)


def filled(struct: np.dtype[np.void], values: Mapping[str, Value]) -> np.ndarray[Any, Any]:
    """The struct with these values of its members.

    Raises:
        TypeError: a member lacks its value, or a value is that of no member.
    """
    members = struct.names or ()
    if others := {*members} ^ values.keys():
        raise TypeError(f"{', '.join(sorted(others))}: a kernel takes {', '.join(members)}")
    return np.array(tuple(_number(struct, name, values[name]) for name in members), struct)


def _number(struct: np.dtype[np.void], name: str, value: Value) -> Any:
    """A value of a member as NumPy takes it."""
    match value:
        case Tensor():
            return value.data_ptr()
        case None:
            return 0
        case dict():
            return filled(struct[name], value)
        case _:
            return value


def _struct(name: str, source: str) -> np.dtype[np.void]:
    """A struct of the source, laid out as C does."""
    body = re.search(rf"^struct {name} {{\n(.*?)\n}};", source, re.DOTALL | re.MULTILINE)
    if body is None:
        raise ValueError(f"no struct {name}")
    fields: list[Any] = []
    for declaration in re.sub("//.*", "", body[1]).split(";")[:-1]:
        number = ""
        for part in declaration.split(","):
            *words, member = re.findall(r"\w+|\*", part)
            number = " ".join(word for word in words if word not in ("const", "*")) or number
            kind = _POINTER if "*" in words else _NUMBERS.get(number)
            fields.append((member, kind or _struct(number, source)))
    return np.dtype(fields, align=True)


class Kernel:
    """One kernel, compiled for and loaded on one GPU."""

    def __init__(
        self,
        name: str,
        *,
        sources: Sequence[Path | str],
        constants: Mapping[str, int],
        device: torch.device,
        dtype: torch.dtype | None = None,
        architecture: str | None = None,
    ) -> None:
        """Compile the kernel `name`.

        Args:
            name: of the `extern "C"` function.
            sources: files, or CUDA C++ as text; they are compiled as one, in this order.
            constants: macros to define.
            device: the GPU to compile for and load onto.
            dtype: of the tensors, where the sources use the functions of numbers.cu.
            architecture: another one than the GPU's own. sm_90a also allows instructions that no
                later GPU has; compute_80 gives code for every GPU from that capability on, which
                the driver finishes.

        Raises:
            KernelError: this PyTorch has no NVRTC, the code does not compile, or the GPU refuses
                it.
        """
        numbers = [Path(__file__).with_name("numbers.cu")] if dtype else []
        files = [*numbers, *sources]
        source = "\n".join(file.read_text() if isinstance(file, Path) else file for file in files)
        self._parameter = parameter_of(name, source)
        self._device = device
        self._driver, nvrtc = _libraries()
        major, minor = torch.cuda.get_device_capability(device)
        options = [f"--gpu-architecture={architecture or f'sm_{major}{minor}'}", "--std=c++17"]
        options += [f"-D{key}={int(value)}" for key, value in constants.items()]
        options += [f"-DDTYPE={_DTYPES.index(dtype)}"] if dtype else []
        _, *version = nvrtc.nvrtcVersion()
        made_of = ["NVRTC {}.{}".format(*version), *options, source]
        code = cached(made_of, lambda: compiled(name, source, options))
        torch.cuda.synchronize(device)  # PyTorch's context is there
        module = self._call(self._driver.cuModuleLoadData, code)
        self._function = self._call(self._driver.cuModuleGetFunction, module, name.encode())

    def reserve(self, shared: int, *, large_clusters: bool = False) -> None:
        """Allow launches with up to `shared` bytes of dynamic shared memory a block.

        `large_clusters`: allow clusters of more than 8 blocks, too.

        Raises:
            KernelError: the GPU has less, or no such clusters.
        """
        driver, kinds = self._driver, self._driver.CUfunction_attribute
        kind = kinds.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._call(driver.cuFuncSetAttribute, self._function, kind, shared)
        if large_clusters:
            kind = kinds.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            self._call(driver.cuFuncSetAttribute, self._function, kind, 1)

    def clusters_at_once(self, *, cluster: int, threads: int, shared: int) -> int:
        """How many clusters of so many blocks the GPU runs at the same time; 0 if it cannot.

        `threads` and `shared` are those of a block.
        """
        shape = self._shape(cluster, threads, shared, cluster=cluster)
        try:
            return int(self._call(self._driver.cuOccupancyMaxActiveClusters, self._function, shape))
        except KernelError:
            return 0

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
        """Queue a launch on PyTorch's current stream of the kernel's GPU.

        Args:
            arguments: the members of the kernel's one parameter, a struct, by their names.
            blocks: in the grid, which has one dimension.
            threads: in a block.
            shared: bytes of dynamic shared memory a block; see `reserve`.
            cooperative: refuse the launch unless all blocks fit on the GPU at the same time.
            cluster: blocks of a thread-block cluster; 0 for none.

        Raises:
            KernelError: the GPU refuses the launch.
        """
        parameter = filled(self._parameter, arguments)
        pointers = np.array([parameter.ctypes.data], _POINTER)
        shape = self._shape(blocks, threads, shared, cluster=cluster, cooperative=cooperative)
        launched = shape, self._function, pointers.ctypes.data, 0
        self._call(self._driver.cuLaunchKernelEx, *launched)

    def _shape(
        self, blocks: int, threads: int, shared: int, *, cluster: int, cooperative: bool = False
    ) -> Any:
        """CUlaunchConfig: of a launch on PyTorch's current stream."""
        driver, kinds = self._driver, self._driver.CUlaunchAttributeID
        shape, attributes = driver.CUlaunchConfig(), []
        shape.gridDimX, shape.gridDimY, shape.gridDimZ = blocks, 1, 1
        shape.blockDimX, shape.blockDimY, shape.blockDimZ = threads, 1, 1
        shape.sharedMemBytes = shared
        shape.hStream = torch.cuda.current_stream(self._device).cuda_stream
        if cluster:
            attribute = driver.CUlaunchAttribute()
            attribute.id = kinds.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            size = attribute.value.clusterDim
            size.x, size.y, size.z = cluster, 1, 1
            attributes.append(attribute)
        if cooperative:
            attribute = driver.CUlaunchAttribute()
            attribute.id = kinds.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            attribute.value.cooperative = 1
            attributes.append(attribute)
        shape.attrs, shape.numAttrs = attributes, len(attributes)
        return shape

    def _call(self, function: Callable[..., tuple[Any, ...]], *arguments: object) -> Any:
        """What a function of the driver returns beside its error. Raises KernelError."""
        with torch.cuda.device(self._device):  # which has the module, and the default stream
            error, *values = function(*arguments)
        if error:
            _, text = self._driver.cuGetErrorString(error)
            said = (text or b"unknown error").decode()
            raise KernelError(f"the GPU refuses the kernel: {said}")
        return values[0] if values else None


def compiled(name: str, source: str, options: Sequence[str]) -> bytes:
    """The machine code (a cubin) of CUDA C++, whose file is called `name`; it takes no GPU.

    For a virtual architecture, like compute_80, its PTX.

    Raises:
        KernelError: this PyTorch has no NVRTC, or the code does not compile.
    """
    _, nvrtc = _libraries()
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), f"{name}.cu".encode(), 0, None, None)
    try:
        packed = [option.encode() for option in options]
        (failed,) = nvrtc.nvrtcCompileProgram(program, len(packed), packed)
        if failed:
            log = bytearray(nvrtc.nvrtcGetProgramLogSize(program)[1])
            nvrtc.nvrtcGetProgramLog(program, log)
            lines = log.rstrip(b"\0").decode().splitlines()
            first = next((line for line in lines if line), "no log")
            raise KernelError(f"NVRTC cannot compile with {options[0]}: {first}")
        if any("compute_" in option for option in options):
            code = bytearray(nvrtc.nvrtcGetPTXSize(program)[1])
            nvrtc.nvrtcGetPTX(program, code)
        else:
            code = bytearray(nvrtc.nvrtcGetCUBINSize(program)[1])
            nvrtc.nvrtcGetCUBIN(program, code)
        return bytes(code)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def cached(made_of: Sequence[str], make: Callable[[], bytes]) -> bytes:
    """A kernel's machine code from the cache, else what `make` returns, which is then kept.

    `made_of` is all that the code depends on. An entry begins with a digest of that and of the
    code: one that is damaged, or another's, is made again. Any number of processes may do so at
    once. Where the cache cannot be read or written, every process compiles.
    """
    key = hashlib.sha256(json.dumps([*made_of]).encode()).digest()
    file = _cache_dir() / f"{key.hex()[:32]}.cubin"
    with contextlib.suppress(OSError):
        digest, code = (content := file.read_bytes())[:_DIGEST], content[_DIGEST:]
        if digest == hashlib.sha256(key + code).digest():
            os.utime(file)  # it is in use: see corpus_cache.evict
            return code
    code = make()
    # Not synced to the disk: what a crash leaves of it does not fit its digest.
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}.tmp")
        try:
            temporary.write_bytes(hashlib.sha256(key + code).digest() + code)
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
    return code


def _cache_dir() -> Path:
    """Where machine code is kept: below SEQKIT_CACHE_DIR, or the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(os.environ.get("SEQKIT_CACHE_DIR") or Path(base) / "seqkit").expanduser()
    return cache / "kernels"


@functools.cache
def _libraries() -> tuple[ModuleType, ModuleType]:
    """The driver and NVRTC, which loads here. Raises KernelError."""
    try:
        from cuda.bindings import driver, nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        raise KernelError(f"this PyTorch came without NVRTC or cuda.bindings: {error}") from error
    return driver, nvrtc
