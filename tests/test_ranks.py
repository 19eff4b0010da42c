"""Several processes add up, share and agree; one alone agrees with itself."""

import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch._C._distributed_c10d import HashStore

from seqkit.processes import Place, place
from seqkit.ranks import ALONE, joined, name_of_start
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


def test_processes_that_start_again_do_not_meet_those_that_ended() -> None:
    store = HashStore()
    store.set("greeting 1", "of one that ended")

    def started() -> set[str]:
        places = [Place(rank, 3, rank, 3) for rank in range(3)]
        with ThreadPoolExecutor(3) as pool:
            return set(pool.map(lambda place: name_of_start(store, place), places))

    first, second = started(), started()
    assert len(first) == len(second) == 1
    assert first != second


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
