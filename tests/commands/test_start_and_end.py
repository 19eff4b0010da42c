"""A terminal shows something from the first moment on, and a command is over with its last line."""

import json
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TINY, Run, completed, environment
from tests.terminal import on_terminal
from tests.warm_python import python

_WITHOUT_TORCH = """
import sys, time
class Slow:  # as PyTorch is, so that what is shown meanwhile can be read
    def find_spec(self, name, *_):
        if name == "torch":
            time.sleep(0.5)
            raise ModuleNotFoundError("no torch", name=name)
sys.meta_path.insert(0, Slow())
from seqkit.cli import main
sys.exit(main(sys.argv[1:]))
"""
_SEVERAL = """
import contextlib, io, json, sys
from seqkit.cli import main
outcomes = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(io.StringIO()) as err:
            code = main(words.split())
    outcomes.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(outcomes))
"""


@pytest.mark.parametrize(
    ("words", "shows"),
    [
        (["evaluate", "checkpoint=none"], True),
        (["evaluate", "checkpoint=none", "quiet=true"], False),
        (["recipe=toy_sentence"], True),
    ],
)
def test_something_is_shown_before_pytorch_is_imported(
    words: list[str], shows: bool, tmp_path: Path
) -> None:
    seen = []
    program = [sys.executable, "-c", _WITHOUT_TORCH, *words]
    with on_terminal(program, 80, tmp_path) as terminal:
        while terminal.read():
            seen += terminal.screen.rows[:1]
        rows = terminal.screen.rows
    assert any(row.startswith("seqkit: starting") for row in seen) == shows
    assert "seqkit: starting" not in "\n".join(rows)  # nothing of it is left
    assert "torch" in rows[-1]


ABSENT = [
    ("generate", 2, "no checkpoint: give checkpoint=RUN_FOLDER or checkpoint=FILE"),
    ("generate checkpoint=none", 4, "none: no such checkpoint"),
    ("generate checkpoint=a prompt_file=none", 3, "prompt_file=none: cannot be read: no such"),
    ("evaluate checkpoint=a data.path=none", 3, "none: cannot be read: no such file"),
    ("score checkpoint=/dev/null", 4, "/dev/null: no such checkpoint"),
    ("inspect checkpoint=.", 4, ".: no checkpoint in this folder"),
    ("compare runs=none", 2, "runs=none: no run there"),
    ("generate checkpoint=a out=a", 6, "out=a is what is read: give another name"),
    ("generate checkpoint=a out=c", 6, "c exists: give another out"),
    ("report run_dir=none", 4, "run_dir=none: no such folder"),
    ("doctor data.path=none", 3, "none: cannot be read: no such file"),
    (
        "generate checkpoint=a prompt_file=/dev/zero",
        3,
        "/dev/zero: cannot be read: it is no file",
    ),
    ("recipe=shakespeare data.path=none", 3, "none: cannot be read: no such file"),
    ("recipe=shakespeare init_from=none", 4, "none: no such checkpoint"),
    ("recipe=my_sound prompt_audio=none", 3, "none: cannot be read: no such file"),
]
"""Command lines that name what is not there: their exit code, and what is told."""


@pytest.fixture(scope="module")
def outcomes(
    trained: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[int, str, str]]:
    """What each of these lines comes to, in one process."""
    folder = tmp_path_factory.mktemp("absent")
    shutil.copyfile(trained / "checkpoints" / "best.safetensors", folder / "a")
    (folder / "c").touch()
    lines = [words for words, _, _ in ABSENT]
    done = completed([python(), "-c", _SEVERAL, json.dumps(lines)], cwd=folder)
    assert done.returncode == 0, done.stderr
    return dict(zip(lines, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize(("words", "code", "told"), ABSENT)
def test_what_is_not_there_is_told(
    words: str, code: int, told: str, outcomes: dict[str, tuple[int, str, str]]
) -> None:
    found, out, err = outcomes[words]
    assert (found, out) == (code, ""), err
    assert err.splitlines()[-1].startswith("seqkit: error:")
    assert told in err


def test_a_run_that_goes_on_needs_none_of_it(run: Run, trained: Path) -> None:
    assert "is finished" in run.ok(f"run_dir={trained}", "resume=auto", "prompt_file=none").err


def test_a_run_in_the_way_is_told_before_data_that_are_not_there(run: Run, trained: Path) -> None:
    assert "holds a run" in run.fails(6, *TINY, "data.path=none", f"run_dir={trained}")
    impossible = f"run_dir={'a' * 300}"
    assert "run_dir=aaa" in run.fails(6, *TINY, "data.path=none", impossible)


@pytest.mark.parametrize(
    ("number", "code", "last"),
    [
        (signal.SIGINT, 130, "seqkit: error: interrupted"),
        (signal.SIGTERM, 75, "seqkit: error: stopped by SIGTERM"),
    ],
)
def test_who_is_waited_for_is_shown_and_a_signal_ends_the_wait(
    number: signal.Signals,
    code: int,
    last: str,
    port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = {"RANK": 0, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 2}
    for name, value in {**place, "MASTER_ADDR": "localhost", "MASTER_PORT": port}.items():
        monkeypatch.setenv(name, str(value))
    program = [python(), "-m", "seqkit", "recipe=toy_sentence", "device=cpu"]
    with on_terminal(program, 80, tmp_path) as terminal:
        while terminal.read():
            if any("waiting for the other processes" in row for row in terminal.screen.rows):
                break
        terminal.program.send_signal(number)
        while terminal.read():
            pass
        assert terminal.program.wait() == code
        assert any(row.startswith(last) for row in terminal.screen.rows[-2:])  # it may be broken


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_a_signal_ends_the_wait_for_rank_0(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        listening.listen()
        place = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
        place |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(listening.getsockname()[1])}
        with subprocess.Popen(
            [python(), "-m", "seqkit", "recipe=toy_sentence", "device=cpu"],
            cwd=tmp_path,
            env={**environment(), **place},
            stderr=subprocess.PIPE,
        ) as process:
            link, _ = listening.accept()  # it waits for an answer
            with link:
                process.send_signal(number)
                _, said = process.communicate()
    assert (process.returncode, said) == (code, b"")
