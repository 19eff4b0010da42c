"""Work beside this thread: tasks that several processes share, and calls that may hang.

The processes end with their parent, however it ends. They hear no signals, so that the parent alone
says what happens.
"""

import contextlib
import functools
import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, resource_tracker
from typing import Any, TypeVar

from seqkit.foundation.errors import DeviceError
from seqkit.foundation.threads import shared_cores

_HEAR = 0.5  # seconds at most until a signal is heard
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
Watch = Callable[[int], None]
S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")


class HangingError(Exception):
    """A call did not return in time; a TimeoutError is one that the call itself raised."""


def call_with_timeout(timeout: float | None, call: Callable[[], T]) -> T:
    """What a call returns; if it takes more than `timeout` seconds, its thread is left behind.

    Signals are heard meanwhile, also where the call is one of C++: at the latest after half a
    second, since a wait without end misses one that comes just before it. None waits for ever.

    Raises HangingError, and what the call raises.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    left = math.inf if timeout is None else timeout
    while not wait([answer], min(left, _HEAR)).done:
        left -= _HEAR
        if left <= 0:
            raise HangingError
    return answer.result()


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
        watch: told what the tasks tell theirs; by other processes once a task is done.

    Raises:
        Exception: what a task raised first.
        DeviceError: a process was killed.
    """
    count = min(processes, len(tasks))
    if count <= 1:
        for number, task in enumerate(tasks):
            yield number, function(shared, task, watch)
        return
    # A fork of this process, which has threads, might hang; one of a server that has none is quick.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([function.__module__])
    alive, held = context.Pipe(duplex=False)  # `held` closes at the latest when this process ends
    arguments = (alive, function, shared)
    pool = ProcessPoolExecutor(count, context, initializer=_Worker.begin, initargs=arguments)
    try:
        resource_tracker.ensure_running()  # its start would let the signals held below through
        with _signals_held():  # what is started inherits that
            numbers = {pool.submit(_Worker.work, task): n for n, task in enumerate(tasks)}
        waiting = set(numbers)
        while waiting:
            done, waiting = wait(waiting, _HEAR, FIRST_COMPLETED)
            for future in done:
                counted, result = future.result()
                watch(counted)
                yield numbers[future], result
    except BrokenProcessPool as error:
        raise DeviceError(
            f"one of {count} processes was killed, perhaps for want of memory: the same command "
            "goes on"
        ) from error
    finally:
        held.close()
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    """What a process of the pool keeps from task to task."""

    _call: Callable[[Any, Watch], Any]

    @classmethod
    def begin(
        cls, alive: connection.Connection, function: Callable[..., Any], shared: object
    ) -> None:
        """Prepare this process: `alive` ends when the parent wants no more, or has ended."""
        threading.Thread(target=_end_after, args=(alive,), daemon=True).start()
        cls._call = functools.partial(function, shared)

    @classmethod
    def work(cls, task: object) -> tuple[int, Any]:
        """Do a task: what it counted, in all, and what it returned."""
        counts = list[int]()
        with shared_cores(exactly=1):  # the processes share them
            result = cls._call(task, counts.append)
        return sum(counts), result


def _end_after(alive: connection.Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        alive.recv()
    os._exit(1)
