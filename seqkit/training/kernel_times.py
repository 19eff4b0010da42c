"""The file of measured times: what was measured on this machine is not measured again."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

from seqkit.foundation import disk
from seqkit.foundation.errors import DeviceError, OutputError
from seqkit.model.execution import Execution

_FORMAT = 2  # of the file


def measured_times(
    executions: list[Execution],
    *,
    measure: Callable[[Execution], float],
    place: Path,
    circumstances: str,
) -> dict[Execution, float]:
    """Milliseconds of every execution that could be measured, now or earlier.

    An execution that fails (out of memory, not supported by this GPU) has no time,
    and nothing is remembered of it: memory may suffice the next time. Trying it again costs less
    than measuring it would, because it ends where it fails.

    Args:
        executions: what to measure.
        measure: returns milliseconds.
        place: the file of times.
        circumstances: what the times depend on beside the execution.
    """
    file = _read(place)
    known = file.setdefault(circumstances, {})
    times: dict[Execution, float] = {}
    fresh = False
    for execution in executions:  # one at a time: together they would need the memory of all
        name = json.dumps(execution.to_record())
        if name not in known:
            try:
                known[name] = measure(execution)
            except (RuntimeError, DeviceError):
                continue
            fresh = True
        times[execution] = known[name]
    if fresh:
        content = json.dumps({"format": _FORMAT, "milliseconds": file}, indent=1)
        with contextlib.suppress(OutputError), disk.atomic_write(place) as stream:
            stream.write(content.encode())
    return times


def _read(place: Path) -> dict[str, dict[str, float]]:
    """The remembered times: circumstances -> record of an execution -> milliseconds.

    A file that is missing, damaged or of another format counts as empty.
    """
    try:
        content = json.loads(place.read_bytes())
        if content["format"] != _FORMAT:
            return {}
        return {
            circumstances: {name: float(time) for name, time in times.items()}
            for circumstances, times in content["milliseconds"].items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
