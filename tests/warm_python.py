"""A `python` whose programs find PyTorch and seqkit imported: those that tests start need not wait.

`python()` names a stand-in for `sys.executable`. It hands its arguments, environment, folder and
streams to a server that has imported everything, and the server's fork runs the program. Signals
and exit codes pass through. Where a variable that is read at the start (warm_client.py has their
names) is not the server's, the stand-in runs `sys.executable`. Programs that are about starting or
ending (imports, locales, signals in the first second), that lose their stderr or are stopped want
that itself. All others have one seed of hashes, the server's: sets have the same order in all.
"""

import atexit
import contextlib
import faulthandler
import functools
import gc
import importlib
import json
import os
import resource
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
from pathlib import Path
from typing import Any

from tests.warm_client import PASSED, read_at_start

SHARED = "SEQKIT_TESTS_WARM_PYTHON"
"""The variable that names the stand-in of a server that several processes of tests share."""
_HANGS = 240.0  # seconds; the imports take two, and twenty on a crowded machine


def module_path() -> str:
    """This checkout's seqkit for processes of any folder, before what PYTHONPATH names already."""
    root = str(Path(__file__).parent.parent)
    return os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))


@functools.cache
def python() -> str:
    """The path of the stand-in, whose server runs until this process ends."""
    return os.environ.get(SHARED) or start()


def start() -> str:
    """Start a server, which imports while this process goes on; the path of its stand-in."""
    if not sys.platform.startswith("linux"):
        return sys.executable
    folder = Path(tempfile.mkdtemp(prefix="seqkit_"))
    variables = {**os.environ, "PYTHONPATH": module_path()}
    (folder / "variables.json").write_text(json.dumps(read_at_start(variables)))
    with socket.socket(socket.AF_UNIX) as listening, (folder / "stderr").open("w") as said:
        listening.bind(str(folder / "socket"))
        listening.listen(64)  # who comes while it imports waits
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.warm_python", str(listening.fileno())],
            env=variables,
            stdin=subprocess.PIPE,  # closed when this process ends, however it does
            stderr=said,
            pass_fds=[listening.fileno()],
        )
    client = Path(__file__).with_name("warm_client.py")
    stand_in = folder / "python"
    stand_in.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{client}" "{folder}" "$@"\n')
    stand_in.chmod(0o700)

    def end() -> None:
        server.kill()  # it may still be importing
        server.wait()
        shutil.rmtree(folder)

    atexit.register(end)
    return str(stand_in)


def _serve(handle: int) -> list[str]:
    """Wait for programs; returns, in a fork for each, with the words after `python`."""
    with socket.socket(fileno=handle) as listening:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers need no wait
        while True:
            ready, _, _ = select.select([listening.fileno(), 0], [], [])
            if 0 in ready:
                os._exit(0)
            link, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                return _keep(link)
            link.close()


def _keep(link: socket.socket) -> list[str]:
    """Fork the program, in which this returns; tell its number and how it ended, or end it."""
    _, handles, _, _ = socket.recv_fds(link, 1, 4)
    with link.makefile() as lines:
        told = json.loads(lines.readline())
    program = os.fork()
    if program == 0:
        link.close()
        _become(told, handles)
        return list(told["words"])
    for handle in handles:
        os.close(handle)
    with contextlib.suppress(BrokenPipeError):
        link.sendall(b"%d\n" % program)
    ended = os.pidfd_open(program)
    if (
        link.fileno() in select.select([link.fileno(), ended], [], [])[0]
    ):  # nobody waits for it any more
        os.kill(program, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        link.sendall(b"%d\n" % code)
    os._exit(0)


def _become(told: dict[str, Any], handles: list[int]) -> None:
    """Take the client's streams, folder, environment, signals and limits."""
    folder, *streams = handles
    os.fchdir(folder)
    os.close(folder)
    for passed in PASSED:
        usual: Any = signal.default_int_handler if passed == signal.SIGINT else signal.SIG_DFL
        signal.signal(passed, signal.SIG_IGN if passed in told["ignored"] else usual)
    for number in range(3):
        os.close(number)
    for number, handle in zip(told["streams"], streams, strict=True):
        os.dup2(handle, number)
        os.close(handle)
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        usual_stream = getattr(sys, f"__{name}__")
        stream = None
        if number in told["streams"]:
            stream = open(  # noqa: SIM115
                number, mode, encoding=usual_stream.encoding, errors=usual_stream.errors,
                closefd=False, buffering=1 if number == 2 else -1,
            )  # fmt: skip
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.environ.clear()
    os.environ.update(told["env"])
    for limit, values in told["limits"]:
        resource.setrlimit(limit, values)


def _run(words: list[str]) -> None:
    """Run `-m MODULE …` or `-c CODE …`, perhaps after `-P`, as the interpreter does."""
    own = [str(Path.cwd())]
    if words[0] == "-P":
        own, words = [], words[1:]
    option, what, *rest = words
    import torch

    # PyTorch makes its threads anew in a fork; where those of two GPUs do so at once, it fails.
    torch.set_num_threads(torch.get_num_threads())
    given = os.environ.get("PYTHONPATH", "")
    sys.path[:0] = [*own, *filter(None, given.split(os.pathsep))]
    sys.argv = [option, *rest]
    importlib.invalidate_caches()
    if option == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.modules["__main__"] = main = types.ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), vars(main))


def _code(words: list[str]) -> int:
    """Run the program; its exit code, as the interpreter has it."""
    try:
        _run(words)
    except SystemExit as error:
        if isinstance(error.code, int):
            return error.code & 0xFF
        if error.code is not None:
            print(error.code, file=sys.stderr)
        return int(error.code is not None)
    except KeyboardInterrupt:
        raise  # the interpreter ends itself by the signal
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(code: int) -> None:
    """End as the interpreter does, but leave what was imported: to free it copies all of it."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (OSError, ValueError):
        sys.exit(code)  # and the interpreter says what it has to
    os._exit(code)


def _use() -> None:
    """Make what takes long the first time: a config, the page of a run, and a model's symbols."""
    import seqkit
    from seqkit.advice import run_page
    from seqkit.compose import compose
    from seqkit.config import SampleConfig
    from seqkit.runs import record

    compose(["recipe=shakespeare"], [])
    with tempfile.TemporaryDirectory() as run:
        lines = [{"event": "train", "step": step, "seconds": step, "loss": 1.0} for step in (1, 2)]
        (Path(run) / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
        run_page.render(record.read(Path(run)))
    sample = SampleConfig(engine="torch")
    seqkit.load("shakespeare", device="cpu").generate(length=2, seed=0, sample=sample)


if __name__ == "__main__":
    faulthandler.dump_traceback_later(_HANGS, exit=True)
    for name in (
        *("seqkit.api.train", "seqkit.commands.train", "seqkit.commands.generate"),
        *("seqkit.commands.evaluate", "torch._dynamo", "matplotlib.figure"),
        *("matplotlib.backends.backend_svg", "matplotlib.backends.backend_agg"),
        "torch.distributed.run",
    ):
        importlib.import_module(name)
    _use()
    faulthandler.cancel_dump_traceback_later()
    gc.freeze()  # what is imported is not looked through again at the end of each program
    _end(_code(_serve(int(sys.argv[1]))))
