"""The command `play`: what it offers, and where it listens."""

import contextlib
import shutil
import signal
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from seqkit.commands.play import _offered
from seqkit.foundation.errors import ConfigError
from tests.conftest import Run
from tests.play.conftest import serving


def test_runs_come_first_and_the_ready_made_models_after_them(
    trained: Path, tmp_path: Path
) -> None:
    every = _offered(None, str(trained.parent))  # other tests may have added runs
    assert (every[0], *every[-2:]) == (str(trained), "etude", "shakespeare")
    assert _offered(None, str(trained))[0] == str(trained)
    assert _offered("etude", "runs") == ["etude"]
    with pytest.raises(ConfigError):
        _offered(None, str(tmp_path / "typo"))


def test_a_port_that_is_taken_is_told(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = run.fails(2, "play", f"port={port}", "checkpoint=shakespeare", "device=cpu")
    assert f"port={port}: Address already in use" in said
    assert "give another port, or port=0" in said


def test_it_listens_on_this_machine_and_ends_with_ctrl_c() -> None:
    with serving("checkpoint=shakespeare") as own:
        assert own.link.startswith("http://127.0.0.1:")
        assert len(own.token) >= 22
        assert own.ask(length=5).status == 200
        own.process.send_signal(signal.SIGINT)
        assert own.process.wait() == 130
        assert own.process.stderr is not None
        assert "Traceback" not in own.process.stderr.read()


def test_connections_that_say_nothing_keep_nobody_out_for_long() -> None:
    with serving("checkpoint=shakespeare") as own, contextlib.ExitStack() as silent:
        port = urlsplit(own.link).port
        for _ in range(130):
            silent.enter_context(socket.create_connection(("127.0.0.1", port)))
        while own.ask(length=5).status == 503:
            time.sleep(0.2)
        assert own.ask(length=5).status == 200


def test_a_damaged_run_is_left_out(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "a")
    shutil.copytree(trained, tmp_path / "b")
    for file in (tmp_path / "a/checkpoints").iterdir():
        file.write_bytes(file.read_bytes()[:-9])
    with serving(f"runs={tmp_path}") as own:
        assert own.ask(length=5).status == 200
        assert "damaged" in own.ask(checkpoint=str(tmp_path / "a")).error
        assert own.ask(checkpoint=str(tmp_path / "b"), length=5).status == 200
