"""Several processes add up, share and agree; one alone agrees with itself."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch._C._distributed_c10d import HashStore

from seqkit.foundation.errors import DataError, LostProcessError
from seqkit.foundation.processes import Rank, own_rank
from seqkit.foundation.ranks import ALONE, Ranks, joined, name_of_start
from tests.conftest import TINY, completed, torchrun


def test_three_processes_agree() -> None:
    done = completed(torchrun(3, "tests.several"))
    assert done.returncode == 0, done.stderr


def test_a_process_alone_agrees_with_itself() -> None:
    values = torch.ones(2)
    with joined(Rank()) as ranks:
        ranks.sum(values)
        ranks.max(values)
        ranks.settle(torch.device("cpu"))
        assert values.tolist() == [1, 1]
        assert ranks.first(None) is None
        assert ranks.first("a") == "a"
        assert list(ranks.rounds(iter("ab"))) == ["a", "b"]
        with ranks.turn(False), ranks.turn(True):
            ranks.check_same({"a": 1})
        before = {**vars(ALONE)}
        ranks.advise(lambda: "nobody else can end")
        assert (ranks is ALONE, vars(ALONE)) == (True, before)


def test_rank_0_ends_with_the_failure_of_another_which_ends_in_silence() -> None:
    store = HashStore()
    first, second = (Ranks(Rank(rank, 2, rank, 2), store) for rank in range(2))
    with pytest.raises(SystemExit) as ended:
        second.leave(DataError("no data"))
    assert ended.value.code == DataError.exit_code
    with pytest.raises(LostProcessError, match="rank 1: no data"):
        first.leave(LostProcessError("another process has ended"))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_signal_is_raised_in_every_process(rank: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        Ranks(Rank(rank, 2, rank, 2), HashStore()).leave(KeyboardInterrupt())


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


def test_processes_that_start_again_do_not_meet_those_that_ended() -> None:
    store = HashStore()
    store.set("greeting 1", "of one that ended")

    def started() -> set[str]:
        ranks = [Rank(number, 3, number, 3) for number in range(3)]
        with ThreadPoolExecutor(3) as pool:
            return set(pool.map(lambda rank: name_of_start(store, rank), ranks))

    first, second = started(), started()
    assert len(first) == len(second) == 1
    assert first != second


def test_rank_0_tells_what_the_operating_system_refused_another(
    text_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    words = (*TINY, f"data.path={text_file}", f"run_dir={folder}")
    done = completed(torchrun(2, "tests.commands.failing", *words))
    assert done.returncode == 1
    assert done.stderr.count("seqkit: error:") == 1
    assert "seqkit: error: rank 1: /nowhere/at all: No such file" in done.stderr
    assert not folder.exists()
