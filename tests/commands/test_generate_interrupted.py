"""Text that is made on a terminal, and what a signal or a closed terminal leaves of it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Run, environment, spawn
from tests.terminal import Screen, set_size
from tests.warm_python import python


def test_a_terminal_shows_what_stdout_holds(run: Run, trained: Path) -> None:
    program = f'"{python()}" -m seqkit generate checkpoint="{trained}" length=15 seed=2'
    shown = subprocess.run(
        ["script", "-qec", program, "/dev/null"],
        env=environment(),
        capture_output=True,
        check=True,
        timeout=600,
    ).stdout.decode()
    plain = run("generate", f"checkpoint={trained}", "length=15", "seed=2").out.decode()
    assert shown.endswith("\n")
    screen = Screen(80)
    screen.feed(shown)
    # What was erased is blank, and nobody sees a blank at the end of a row.
    assert [row.rstrip() for row in screen.rows] == [row.rstrip() for row in plain.split("\n")]


@pytest.mark.thorough
def test_a_terminal_that_is_closed_leaves_what_was_made(trained: Path, tmp_path: Path) -> None:
    terminal, side = os.openpty()
    set_size(terminal, 200)
    more = ["streams=2", "length=100000000", "out=long.txt"]
    with subprocess.Popen(
        [sys.executable, "-m", "seqkit", "generate", f"checkpoint={trained}", *more],
        cwd=tmp_path, env=environment(), stderr=side,
    ) as making:  # fmt: skip
        try:
            os.close(side)
            said = b""
            while b"symbols/s" not in said:
                said += os.read(terminal, 1000)
            os.close(terminal)
            making.send_signal(signal.SIGSTOP)  # it hears both at once, however busy the machine is
            making.send_signal(signal.SIGHUP)
            making.send_signal(signal.SIGTERM)  # more of them disturb nothing
            making.send_signal(signal.SIGCONT)
            assert making.wait(600) == 75
        finally:
            making.kill()
    for made in (tmp_path / "long_1.txt", tmp_path / "long_2.txt"):
        assert 50 <= len(made.read_text()) < 100_000_000


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_ends_text_on_stdout_in_a_line(
    sent: signal.Signals, trained: Path, tmp_path: Path
) -> None:
    words = ["generate", f"checkpoint={trained}", "length=10000000", "seed=1"]
    with spawn([python(), "-m", "seqkit", *words], tmp_path) as making:
        try:
            assert making.stdout is not None
            begun = making.stdout.read(50)
            making.send_signal(sent)
            rest, said = making.communicate(timeout=600)
            assert making.returncode == 75
        finally:
            making.kill()
    assert 50 <= len(begun + rest) < 10_000_000
    assert said.endswith(f"stopped by {sent.name}: the files that it wrote are whole\n")
    assert said.count("\n") == 1
