"""Real files, small sizes: a text, a cache of its own for every test session, a trained run."""

import os
import tempfile

# Tests run in as many processes as there are cores, and many call the network without the loops
# that keep to free cores: with two threads each, the same tests take more than seven times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"  # data sets come from the disk
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="seqkit-hf-")  # before a test imports datasets

import atexit
import contextlib
import errno
import fcntl
import gc
import io
import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
import torch

from seqkit.cli import main
from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.runs import checkpoint
from tests import selection, warm_python
from tests.warm_python import module_path, python

atexit.register(shutil.rmtree, os.environ["HF_HOME"], ignore_errors=True)
# The gate draws the same examples every time; --hypothesis-profile=default draws others.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")

SENTENCE = "the rain in spain stays mainly in the plain.\n"
SMALL = (
    *("model.hidden_size=24", "model.num_layers=2", "model.dropout=0.1"),
    *("train.batch_size=4", "train.sequence_length=8", "optimizer.warmup_steps=5"),
    *("length=30", "device=cpu", "train.precision=fp32"),
)
"""Overrides that make a recipe for text a matter of seconds."""
TINY = ("recipe=shakespeare", *SMALL)


@dataclass(frozen=True)
class Result:
    """What a command line left behind."""

    code: int
    out: bytes
    err: str


@dataclass(frozen=True)
class Run:
    """Runs command lines in this process."""

    capture: pytest.CaptureFixture[bytes]

    def __call__(self, *arguments: str | Path) -> Result:
        """What a command line comes to, whatever that is."""
        self.capture.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = self.capture.readouterr()
        return Result(code, captured.out, captured.err.decode())

    def ok(self, *arguments: str | Path) -> Result:
        """Run a command line that has to succeed."""
        result = self(*arguments)
        assert result.code == 0, result.err
        return result

    def json(self, *arguments: str | Path) -> Any:
        """The result of a command line that has to succeed, as JSON."""
        return json.loads(self.ok(*arguments, "json=true").out)

    def fails(self, code: int, *arguments: str | Path) -> str:
        """What a command line says that has to end with this exit code, and without a result."""
        result = self(*arguments)
        assert (result.code, result.out, "Traceback" in result.err) == (code, b"", False), result
        return result.err

    def fails_in_a_line(self, code: int, *arguments: str | Path) -> str:
        """The same where that has to be one line."""
        said = self.fails(code, *arguments)
        assert said.count("\n") == 1, said
        return said


Write = Callable[[str, str], None]


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["SEQKIT_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    os.environ.pop("SEQKIT_DATA_DIR", None)


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> None:
    """Programs that tests start hear Ctrl-C, even if the tests themselves ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs command lines in this process."""
    return Run(capfdbinary)


@pytest.fixture
def port() -> int:
    """A TCP port that was free a moment ago."""
    with socket.socket() as held:
        held.bind(("localhost", 0))
        return int(held.getsockname()[1])


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    """A short text of one sentence, many times."""
    path = tmp_path / "text.txt"
    path.write_text(SENTENCE * 40)
    return path


@pytest.fixture
def tiny(text_file: Path, tmp_path: Path) -> list[str]:
    """The words of a tiny training on `text_file` into the folder `a`."""
    return [*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'a'}"]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished tiny run, trained by the real command line; for reading alone."""

    def train(folder: Path) -> None:
        (folder / "text.txt").write_text(SENTENCE * 100)
        words = ["data.path=text.txt", "run_dir=run", "optimizer.lr=0.02"]
        with contextlib.chdir(folder):
            assert main([*TINY, *words, "train.max_steps=150", "train.validate_every=50"]) == 0

    return shared(tmp_path_factory, "trained", train) / "run"


def shared(
    tmp_path_factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], None]
) -> Path:
    """A folder that one of the processes in which tests run fills, and all of them read."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent  # of all of them
    folder, filled = place / name, place / f"{name}.filled"
    with (place / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not filled.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            fill(folder)
            filled.touch()
    return folder


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write modules into a folder that is on the path, and forget them after the test."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    known = set(sys.modules)

    def call(name: str, text: str) -> None:
        file = site / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    yield call
    for module in set(sys.modules) - known:
        if str(site) in str(getattr(sys.modules[module], "__file__", "")):
            del sys.modules[module]


def completed(
    line: Sequence[str],
    cwd: Path | str | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, its environment with these variables."""
    return subprocess.run(
        line,
        cwd=cwd,
        env=environment() | dict(variables or {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,  # ends one that hangs
    )


def spawn(
    line: Sequence[str],
    cwd: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> "subprocess.Popen[str]":
    """Start a program as `completed` does; its stdout and stderr can be read."""
    return subprocess.Popen(
        line,
        cwd=cwd,
        env=environment() | dict(variables or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def process(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `python -m seqkit` as a process of its own."""
    return completed([python(), "-m", "seqkit", *arguments], cwd)


def torchrun(count: int, *words: str, more: Sequence[str] = ()) -> list[str]:
    """The command line that starts so many processes of `python -m words`."""
    launcher = [python(), "-m", "torch.distributed.run", "--standalone", "--no-python"]
    return [*launcher, f"--nproc-per-node={count}", *more, python(), "-m", *words]


def environment() -> dict[str, str]:
    """The environment for processes: this checkout's seqkit, from any folder."""
    return {**os.environ, "PYTHONPATH": module_path()}


def saved(run: Path, name: str = "last") -> checkpoint.Checkpoint:
    """A checkpoint of a run."""
    return checkpoint.load(run / "checkpoints" / f"{name}.safetensors", Catalogue())


def summary_of(run: Path) -> dict[str, Any]:
    """The summary.json of a run."""
    return dict(json.loads((run / "summary.json").read_text()))


def metrics_of(run: Path) -> list[dict[str, Any]]:
    """The lines of a run's metrics.jsonl."""
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def weights(run: Path, name: str = "last") -> dict[str, torch.Tensor]:
    """The weights in a checkpoint of a run."""
    return saved(run, name).weights


def same(first: Path, second: Path) -> bool:
    """Whether two runs ended with the same weights, to the bit."""
    one, two = weights(first), weights(second)
    return one.keys() == two.keys() and all(np.array_equal(one[name], two[name]) for name in one)


def start(run: Path, text: Path, *more: str) -> "subprocess.Popen[str]":
    """Start a training in a process of its own."""
    arguments = [*TINY, f"data.path={text}", f"run_dir={run}", *more]
    return spawn([python(), "-m", "seqkit", *arguments])


def wait_for_steps(run: Path, steps: int) -> None:
    """Wait until a training in another process has reported this step."""
    metrics = run / "metrics.jsonl"
    for _ in range(1200):
        if metrics.exists() and f'"step": {steps},' in metrics.read_text():
            return
        time.sleep(0.05)
    raise AssertionError("the training did not get so far")


class FullDisk(io.FileIO):
    """A file on a disk that takes so many bytes."""

    def __init__(self, path: Path, mode: str, room: int) -> None:
        super().__init__(path, mode.replace("b", ""))
        self._left = room

    def write(self, data: object) -> int:
        self._left -= memoryview(data).nbytes  # type: ignore[arg-type]
        if self._left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data)  # type: ignore[arg-type]


def fill_disk(monkeypatch: pytest.MonkeyPatch, room: int = 0, files: str = "*") -> None:
    """Let every file whose name matches take so many bytes and no more."""
    real = disk.open_file
    monkeypatch.setattr(
        disk,
        "open_file",
        lambda path, mode: FullDisk(path, mode, room) if path.match(files) else real(path, mode),
    )


def pytest_xdist_auto_num_workers() -> int:
    """A process a core and two for those that wait, four at most; one where tests share a GPU."""
    return 0 if torch.cuda.is_available() else min((os.cpu_count() or 1) + 2, 4)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let the processes in which tests run share one server of warm Pythons."""
    option, worker = session.config.option, hasattr(session.config, "workerinput")
    if getattr(option, "numprocesses", None) and not (worker or option.collectonly):
        os.environ[warm_python.SHARED] = warm_python.start()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not asked for, and skip what needs a GPU where there is none."""
    selection.leave_out(config, items)
    missing = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(missing)


def pytest_collection_finish() -> None:
    """Keep Python from looking through thousands of tests for what nobody will use."""
    gc.freeze()
