"""Several processes add up, share and agree; one alone agrees with itself."""

import subprocess

import pytest
import torch

from seqkit.meeting import joined
from seqkit.processes import Place, place
from seqkit.ranks import ALONE
from tests.conftest import environment, torchrun


def test_three_processes_agree() -> None:
    done = subprocess.run(
        torchrun(3, "tests.several"),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr


def test_a_process_alone_agrees_with_itself() -> None:
    values = torch.ones(2)
    with joined(Place()) as ranks:
        ranks.sum(values)
        ranks.max(values)
        ranks.settle(torch.device("cpu"))
        assert values.tolist() == [1, 1]
        assert ranks.first(None) is None
        assert ranks.first("a") == "a"
        assert list(ranks.rounds(iter("ab"))) == ["a", "b"]
        assert ranks.totals([0.5]) == [0.5]
        with ranks.turn(False), ranks.turn(True):
            ranks.check_same({"a": 1})
        assert ranks is ALONE


def test_the_place_is_what_torchrun_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert place() == Place(0, 1, 0, 1)
    said = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    assert place() == Place()  # as on a cluster that sets some of them for every program
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "29500")
    assert place() == Place(5, 8, 1, 4)
    assert not place().leads
