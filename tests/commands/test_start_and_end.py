"""A terminal shows something from the first moment on, and a command is over with its last line."""

import signal
import socket
import sys
from pathlib import Path

import pytest

from tests.conftest import spawn
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
        line = [python(), "-m", "seqkit", "recipe=toy_sentence", "device=cpu"]
        with spawn(line, tmp_path, place) as process:
            link, _ = listening.accept()  # it waits for an answer
            with link:
                process.send_signal(number)
                _, said = process.communicate()
    assert (process.returncode, said) == (code, "")
