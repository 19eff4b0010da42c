"""How a key is declared, listed and checked: a dataclass field with a meaning and a range."""

import dataclasses
import difflib
import math
import numbers
import operator
import types
import typing
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from seqkit.foundation.errors import ConfigError
from seqkit.foundation.wording import first_of

_LARGEST = 2**31 - 1  # of integers that have no bound of their own

KEYED = "give it by its key, as in data.path=FILE, checkpoint=RUN or run_dir=RUN"
"""What to do about a path on a command line that has no key."""
_LONGEST = 80  # characters of a wrong value in a message
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def option(
    default: Any,
    help: str,
    *,
    minimum: float | None = None,
    above: float | None = None,
    maximum: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """A dataclass field with its meaning and range; `above` is an exclusive lower bound.

    A number is at least 0 by default.
    """
    if minimum is None and above is None and type(default) in (int, float):
        minimum = 0
    bounds = {"minimum": minimum, "above": above, "maximum": maximum, "choices": choices}
    metadata = {"help": help, **bounds}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def options_of(section: type, prefix: str = "") -> Iterator[tuple[str, dataclasses.Field[Any]]]:
    """Every key with its dotted name, depth first, in the order of the dataclasses."""
    for item in dataclasses.fields(section):
        if isinstance(item.type, type) and dataclasses.is_dataclass(item.type):
            yield from options_of(item.type, f"{prefix}{item.name}.")
        else:
            yield prefix + item.name, item


def allowed_values(item: dataclasses.Field[Any]) -> str:
    """A key's choices or range, as in `≥ 1, ≤ 8`; empty if there is neither."""
    bounds = item.metadata
    signs = {"minimum": "≥", "above": ">", "maximum": "≤"}
    limits = [f"{sign} {bounds[k]}" for k, sign in signs.items() if bounds[k] is not None]
    return ", ".join(bounds["choices"] or limits)


def read_value(name: str, item: dataclasses.Field[Any], text: str) -> Any:
    """A key's value as it is typed: `null` where there may be none, a list as a,b or [a,b].

    Raises ConfigError: it is of another type.
    """
    kinds = typing.get_args(item.type) or (item.type,)  # of a list, its items'
    if text == "null" and types.NoneType in kinds:
        return None
    try:
        if typing.get_origin(item.type) is not list:
            return _read(kinds[0], text)
        parts = text.removeprefix("[").removesuffix("]").split(",")
        return [_read(kinds[0], part.strip()) for part in parts if part.strip()]
    except (ValueError, KeyError) as error:
        several = "," in text and typing.get_origin(item.type) is not list
        wanted = "give one value; training takes several with --multirun"
        raise ConfigError(
            f"{name}={_cut(text)}: {wanted if several else f'expected {_WORDS[kinds[0]]}'}"
        ) from error


def _read(kind: type, text: str) -> Any:
    """A value of a type; a whole number may be written as 1e3. Raises ValueError or KeyError."""
    if kind is bool:
        return {"true": True, "false": False}[text.lower()]
    if kind is int and not text.lstrip("+-").isdigit():
        number = float(text)
        if not number.is_integer():
            raise ValueError(text)
        return int(number)
    return kind(text)


def check_section(section: Any, prefix: str = "") -> None:
    """Check types and ranges. Raises ConfigError with key, value and what is allowed."""
    for name, item in options_of(type(section)):
        value = operator.attrgetter(name)(section)
        check_type(prefix + name, value, item.type)
        _check_range(prefix + name, value, item.metadata)


def check_type(name: str, value: Any, wanted: Any) -> None:
    """Check a value against an annotation: a class, a list of one, or a union with None.

    Whole numbers pass for float, and those of NumPy for int. Raises ConfigError.
    """
    classes = {int: numbers.Integral, float: numbers.Real}
    for allowed in typing.get_args(wanted) if isinstance(wanted, types.UnionType) else (wanted,):
        origin = typing.get_origin(allowed) or allowed
        if isinstance(value, classes.get(origin, origin)):
            if isinstance(value, bool) and origin is not bool:
                continue
            if origin is list:
                for part in value:
                    check_type(name, part, typing.get_args(allowed)[0])
            return
    shown = getattr(wanted, "__name__", str(wanted)) if isinstance(wanted, type) else str(wanted)
    raise ConfigError(f"{name}={_short(value)}: expected {shown}, got {type(value).__name__}")


def check_list(name: str, value: Any, wanted: Any) -> None:
    """Check that a value is a list or tuple of such items, and no bare str. Raises ConfigError."""
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{name}={_short(value)}: expected a list, got {type(value).__name__}")
    for item in value:
        check_type(name, item, wanted)


def check_whole_number(name: str, value: Any, minimum: int) -> None:
    """Check that a value is an integer that is large enough. Raises ConfigError."""
    check_type(name, value, int)
    if value < minimum:
        raise ConfigError(f"{name}={value}: give a value of at least {minimum}")


def _short(value: object) -> str:
    """A value in one line, cut where it is long."""
    return _cut(" ".join(repr(value).split()))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _check_range(name: str, value: Any, bounds: Any) -> None:
    if value is None:
        return
    if bounds["choices"] and value not in bounds["choices"]:
        raise ConfigError(f"{name}={_cut(value)}: choose one of {', '.join(bounds['choices'])}")
    real = isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)
    if real and not math.isfinite(value):
        raise ConfigError(f"{name}={value}: give a finite number")
    minimum, above, maximum = bounds["minimum"], bounds["above"], bounds["maximum"]
    if maximum is None and isinstance(value, numbers.Integral) and int(value) > _LARGEST:
        maximum = _LARGEST
    low = (minimum is not None and value < minimum) or (above is not None and value <= above)
    if low or (maximum is not None and value > maximum):
        limits = {"of at least": minimum, "above": above, "of at most": maximum}
        words = [f"{how} {limit}" for how, limit in limits.items() if limit is not None]
        allowed = " and ".join(words).replace("and of", "and")
        raise ConfigError(f"{name}={_cut(str(value))}: give a value {allowed}")


def nearest(name: str, names: list[str]) -> str:
    """A hint at the name that was probably meant, or nothing; all names are in small letters."""
    name = name.lower()
    if inside := [known for known in names if known.startswith(f"{name}.")]:
        return f": it is a group of keys: {first_of(inside)}."
    begun = f"_{name}" if len(name) > 2 else f"_{name}_"  # a word, or how one begins
    within = [known for known in names if begun in f"_{known.rpartition('.')[2]}_"]
    within.sort(key=lambda known: len(known.rpartition(".")[2]))  # the name itself, or most of it
    key, ends = name.rpartition(".")[2], {known.rpartition(".")[2]: known for known in names}
    for typed, others in (name, dict(zip(names, names, strict=True))), (key, ends):
        letters = min(max(len(typed), 2), 4)  # of so many all but one are the same, at least
        same = [other for other in others if other[:1] == typed[:1]]  # it is seldom mistyped
        close = difflib.get_close_matches(typed, same, 1, (letters - 1) / letters)
        within = within or [others[other] for other in close]
    return f": did you mean {within[0]}?" if within else "."
