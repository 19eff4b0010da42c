"""Several processes add up, share and agree; one alone agrees with itself."""

import sys

import pytest

from seqkit.foundation.processes import Rank, own_rank
from tests.conftest import completed

_BROKEN = """
import atexit
from seqkit import cli
atexit.register(print, "waited for the others")
cli.main = lambda: 1 / 0
cli.entry()
"""


@pytest.mark.parametrize(("size", "said"), [(1, "waited for the others\n"), (2, "")])
def test_an_unexpected_failure_of_one_process_does_not_wait_for_the_others(
    size: int, said: str
) -> None:
    place = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size)}
    done = completed(
        [sys.executable, "-c", _BROKEN],
        variables={**place, "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"},
    )
    assert (done.returncode, done.stdout) == (1, said)
    assert "ZeroDivisionError" in done.stderr


def test_the_place_is_what_torchrun_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_rank() == Rank(0, 1, 0, 1)
    said = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    assert own_rank() == Rank()  # as on a cluster that sets some of them for every program
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "29500")
    assert own_rank() == Rank(5, 8, 1, 4)
    assert not own_rank().leads
