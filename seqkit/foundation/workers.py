"""Tasks that several processes of this machine share.

The processes end with their parent, however it ends. They hear no signals, so that the parent alone
says what happens.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import connection, resource_tracker
from typing import Any, TypeVar

import torch

from seqkit.foundation.errors import DeviceError, SeqkitError
from seqkit.foundation.threads import cores_granted

_TOLD_EVERY = 1 << 20  # of what is counted, before the parent is told
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")
Watch = Callable[[int], None]
S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """How many processes can compute at the same time."""
    with contextlib.suppress(AttributeError, OSError):  # Linux only
        return min(cores_granted(), len(os.sched_getaffinity(0)))
    return cores_granted()


def share_out(
    function: Callable[[S, T, Watch], R],
    shared: S,
    tasks: Sequence[T],
    processes: int,
    watch: Watch = lambda count: None,
) -> Iterator[tuple[int, R]]:
    """What `function(shared, task, watch)` returns for each task, with its number, as they come.

    One process, or one task, needs no other process. When the iterator is closed, all have ended.

    Args:
        function: of a module, which the processes import.
        shared: what all tasks need; it is sent to each process once.
        tasks: begun in this order.
        processes: how many.
        watch: told what the tasks tell theirs, in sums.

    Raises:
        SeqkitError: what a task raised first.
        DeviceError: a process was killed.
    """
    count = min(processes, len(tasks))
    if count <= 1:
        for number, task in enumerate(tasks):
            yield number, function(shared, task, watch)
        return
    workers: dict[connection.Connection, multiprocessing.process.BaseProcess] = {}
    try:
        for _ in range(count):
            own, process = _started(function, shared)
            workers[own] = process
        yield from _results(workers, tasks, watch)
    finally:
        for process in workers.values():
            process.kill()
        for own, process in workers.items():
            process.join()
            own.close()


def _started(
    function: Callable[..., Any], shared: object
) -> tuple[connection.Connection, multiprocessing.process.BaseProcess]:
    """A new process, and the end of its pipe that is ours."""
    # A fork of this process, which has threads, might hang; one of a server that has none is quick.
    serves = "forkserver" in multiprocessing.get_all_start_methods()
    own, other = multiprocessing.Pipe()
    given = other, function, shared
    process: multiprocessing.process.BaseProcess
    if serves:
        server = multiprocessing.get_context("forkserver")
        server.set_forkserver_preload([function.__module__])
        resource_tracker.ensure_running()  # its start would let the signals held below through
        process = server.Process(target=_work, args=given, daemon=True)
    else:
        process = multiprocessing.get_context("spawn").Process(
            target=_work, args=given, daemon=True
        )
    with _signals_held():  # what is started inherits that
        process.start()
    other.close()
    return own, process


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    numbers = [getattr(signal, name) for name in _SIGNALS]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _results(
    workers: dict[connection.Connection, multiprocessing.process.BaseProcess],
    tasks: Sequence[Any],
    watch: Watch,
) -> Iterator[tuple[int, Any]]:
    waiting = deque(enumerate(tasks))
    busy = dict[connection.Connection, int]()

    def give(own: connection.Connection) -> None:
        if waiting:
            busy[own], task = waiting.popleft()
            own.send(task)

    try:
        for own in workers:
            give(own)
        while busy:
            for ready in connection.wait([*busy]):
                assert isinstance(ready, connection.Connection)
                said, value = ready.recv()
                if said == "counted":
                    watch(value)
                    continue
                if said == "failed":
                    raise value
                number = busy.pop(ready)
                give(ready)
                yield number, value
    except (EOFError, ConnectionError) as error:
        codes = [process.exitcode for process in workers.values() if process.exitcode is not None]
        code = f" (exit code {codes[0]})" if codes else ""
        raise DeviceError(
            f"one of {len(workers)} processes was killed{code}, perhaps for want of memory: the "
            "same command goes on"
        ) from error


def _work(pipe: connection.Connection, function: Callable[..., Any], shared: object) -> None:
    """Do the tasks that come, until no more can."""
    counted = 0
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)  # the processes share the cores

    def watch(count: int) -> None:
        nonlocal counted
        counted += count
        if counted >= _TOLD_EVERY:
            pipe.send(("counted", counted))
            counted = 0

    with contextlib.suppress(EOFError, OSError):  # the parent wants no more
        while True:
            task = pipe.recv()
            try:
                result = function(shared, task, watch)
            except SeqkitError as error:
                pipe.send(("failed", error))
            except Exception:
                pipe.send(("failed", RuntimeError(traceback.format_exc())))
            else:
                pipe.send(("counted", counted))
                counted = 0
                pipe.send(("done", result))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
