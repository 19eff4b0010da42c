"""Several processes learn what one learns, and one goes on where several stopped."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from seqkit.foundation.ranks import ALONE
from tests.conftest import environment, torchrun
from tests.training.together import STOP, train

Found = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("together")


@pytest.fixture(scope="module")
def two(folder: Path) -> Found:
    """What 1 and 2 processes came to, each also from the state of the other."""
    train(ALONE, folder, [])
    together(2, folder, 1)
    train(ALONE, folder, [str(folder / "2.pt")])
    return outcomes(folder, 1, 2)


@pytest.fixture(scope="module")
def four(folder: Path, two: Found) -> Found:
    """What 4 processes came to, also from the states of those, and 1 from the state of the 4."""
    together(4, folder, 1, 2)
    train(ALONE, folder, [str(folder / "4.pt")])
    return {**outcomes(folder, 1, 4), "2": two["2"]}


def among(request: pytest.FixtureRequest, *counts: str) -> Found:
    """What was found of these numbers of processes, and of no more than that takes."""
    return dict(request.getfixturevalue("four" if "4" in counts else "two"))


def together(count: int, folder: Path, *before: int) -> None:
    """Train in so many processes, also from the states of others."""
    states = [str(folder / f"{other}.pt") for other in before]
    line = torchrun(count, "tests.training.together", "cpu", str(folder), *states)
    subprocess.run(line, env=environment(), check=True, timeout=600)


def outcomes(folder: Path, *counts: int) -> Found:
    return {str(count): json.loads((folder / f"{count}.json").read_text()) for count in counts}


def losses(outcome: dict[str, Any]) -> list[float]:
    """Those after the stop, of reports and validations."""
    return [loss for step, loss in outcome["losses"] if step > STOP]


@pytest.mark.thorough
@pytest.mark.parametrize("count", ["2", "4"])
def test_several_processes_learn_what_one_learns(
    count: str, request: pytest.FixtureRequest
) -> None:
    found = among(request, count)
    one, several = found["1"]["straight"], found[count]["straight"]
    assert [step for step, _ in several["losses"]] == [step for step, _ in one["losses"]]
    for (_, expected), (_, loss) in zip(one["losses"], several["losses"], strict=True):
        assert loss == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("count", ["1", "2", pytest.param("4", marks=pytest.mark.thorough)])
def test_as_many_processes_go_on_to_the_last_bit(
    count: str, request: pytest.FixtureRequest
) -> None:
    found = among(request, count)
    straight, resumed = found[count]["straight"], found[count][count]
    assert resumed["weights"] == straight["weights"]
    assert losses(resumed) == losses(straight)


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize(("count", "before"), [("1", "2"), ("2", "1"), ("1", "4"), ("4", "2")])
def test_another_number_of_processes_goes_on(
    count: str, before: str, request: pytest.FixtureRequest
) -> None:
    found = among(request, count, before)
    expected = losses(found["1"]["straight"])
    assert losses(found[count][before]) == pytest.approx(expected, rel=1e-5)
    assert losses(found[count][before])


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than two GPUs")
def test_two_gpus_add_up_in_one_graph_and_learn_what_one_learns(tmp_path: Path) -> None:
    train(ALONE, tmp_path, [], "cuda")
    line = torchrun(2, "tests.training.together", "cuda", str(tmp_path), str(tmp_path / "1.pt"))
    subprocess.run(line, env=environment(), check=True, timeout=600)
    one, two = (json.loads((tmp_path / f"{count}.json").read_text()) for count in (1, 2))
    for found in (one["straight"], two["straight"], two["2"], two["1"]):
        assert found["graph"] is None
        assert losses(found) == pytest.approx(losses(one["straight"]), rel=1e-3)
    assert losses(two["2"]) == pytest.approx(losses(two["straight"]), rel=1e-4)
