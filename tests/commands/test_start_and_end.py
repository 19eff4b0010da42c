"""A terminal shows something from the first moment on, and a command is over with its last line."""

import re
import sys
from pathlib import Path

import pytest

from tests.conftest import process
from tests.terminal import on_terminal
from tests.warm_python import python

_WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from seqkit.cli import main
main(["generate", "checkpoint=none", *sys.argv[1:]])
"""
_AT_THE_END = """
import atexit, gc, sys
atexit.register(lambda: print(gc.get_freeze_count() > 0))
from seqkit.cli import entry
sys.argv[1:] = ["--version"]
entry()
"""


@pytest.mark.parametrize(("words", "shows"), [([], True), (["quiet=true"], False)])
def test_something_is_shown_before_pytorch_is_imported(
    words: list[str], shows: bool, tmp_path: Path
) -> None:
    seen = []
    with on_terminal([sys.executable, "-c", _WITHOUT_TORCH, *words], 80, tmp_path) as terminal:
        while terminal.read():
            seen += terminal.screen.rows[:1]
        rows = terminal.screen.rows
    assert any(row.startswith("seqkit: starting") for row in seen) == shows
    assert "seqkit: starting" not in "\n".join(rows)  # nothing of it is left
    assert "torch" in rows[-1]


def test_what_takes_a_moment_shows_its_name_and_the_time(tmp_path: Path) -> None:
    program = (
        "import time; from seqkit.console import Console\n"
        "with Console().progress('reading'): time.sleep(1.2)\n"
    )
    seen = set()
    with on_terminal([python(), "-c", program], 80, tmp_path) as terminal:
        while terminal.read():
            seen |= {*terminal.screen.rows}
        assert terminal.screen.rows == []
    assert {"reading  0:00", "reading  0:01"} <= seen


def test_nothing_of_it_is_in_a_log_file(tmp_path: Path) -> None:
    refused = process("generate", "checkpoint=none", cwd=tmp_path)
    assert re.fullmatch("seqkit: error: none: no such checkpoint.*\n", refused.stderr)


def test_the_interpreter_does_not_search_pytorch_for_garbage_at_its_end(tmp_path: Path) -> None:
    with on_terminal([sys.executable, "-c", _AT_THE_END], 80, tmp_path, whole=True) as terminal:
        while terminal.read():
            pass
        assert terminal.screen.rows[-1] == "True"
