"""The struct that a kernel takes, read from its CUDA source: nothing is declared a second time."""

import ctypes
import re
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

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
