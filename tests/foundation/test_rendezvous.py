"""Processes that are started for one command meet each other, and nobody else."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from torch._C._distributed_c10d import HashStore

from seqkit.foundation.processes import Place
from seqkit.foundation.rendezvous import name_of_start
from tests.conftest import TINY, environment, torchrun


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


def test_rank_0_tells_what_the_operating_system_refused_another(
    text_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    words = (*TINY, f"data.path={text_file}", f"run_dir={folder}")
    done = subprocess.run(
        torchrun(2, "tests.commands.failing", *words),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 1
    assert done.stderr.count("seqkit: error:") == 1
    assert "seqkit: error: rank 1: /nowhere/at all: No such file" in done.stderr
    assert not folder.exists()
