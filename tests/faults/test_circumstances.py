"""What happens around a run while it trains: it goes on, or ends in a line."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch

from tests.conftest import SENTENCE, SMALL, TINY, Tell, environment, start, wait_for_steps
from tests.faults.conftest import Amount
from tests.warm_python import python

pytestmark = pytest.mark.faults
ON_GPU = [key for key in SMALL if key not in ("device=cpu", "model.hidden_size=24")]


def test_a_suspended_training_goes_on(text_file: Path, tmp_path: Path, tell: Tell) -> None:
    training = start(tmp_path / "run", text_file, "train.max_steps=300")
    wait_for_steps(tmp_path / "run", 10)
    process = json.loads((tmp_path / "run" / ".lock").read_text())["pid"]
    subprocess.run(["kill", "-STOP", str(process)], check=True)
    time.sleep(1.5)
    subprocess.run(["kill", "-CONT", str(process)], check=True)
    _, said = training.communicate()
    assert training.returncode == 0, said
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    seconds = [json.loads(line)["seconds"] for line in lines]
    assert seconds == sorted(seconds)
    tell("suspended trainings", 1)


@pytest.mark.parametrize("change", ["deleted", "shortened", "replaced"])
def test_data_that_change_during_a_training_end_none(
    change: str, text_file: Path, tmp_path: Path, tell: Tell
) -> None:
    training = start(tmp_path / "run", text_file, "train.max_steps=200")
    wait_for_steps(tmp_path / "run", 10)
    if change == "deleted":
        text_file.unlink()
    else:
        text_file.write_text("" if change == "shortened" else "else" * 1000)
    _, said = training.communicate()
    assert training.returncode == 0, said
    tell("data deleted, shortened or replaced in a training", 1)


def test_programs_that_start_at_once_share_a_cache(
    amount: Amount, tell: Tell, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(SENTENCE * 20_000)
    words = [*TINY, "data.path=a.txt", "train.max_steps=1", "train.validate_every=0"]
    words += ["data.split=[0.99,0.01,0]"]
    numbers = amount(3, 8)
    running = [
        subprocess.Popen(
            [python(), "-m", "seqkit", *words, f"run_dir={number}"], cwd=tmp_path, text=True,
            env={**environment(), "SEQKIT_CACHE_DIR": str(tmp_path / "cache")},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for number in numbers
    ]  # fmt: skip
    for one in running:
        _, said = one.communicate()
        assert one.returncode == 0, said
        assert "Traceback" not in said
    assert not list((tmp_path / "cache").rglob("*.tmp"))
    assert len({file.read_bytes() for file in (tmp_path / "cache").rglob("*.bin")}) == 1
    tell("programs that share a new cache", len(numbers))


@pytest.mark.gpu
def test_a_gpu_that_is_full_is_told(text_file: Path, tmp_path: Path, tell: Tell) -> None:
    free, _ = torch.cuda.mem_get_info()
    filling = torch.empty(max(0, free - (600 << 20)), dtype=torch.uint8, device="cuda")
    words = ["recipe=shakespeare", *ON_GPU, "device=cuda", f"data.path={text_file}"]
    for size in ("model.hidden_size=2048", "model.hidden_size=24 train.batch_size=100000"):
        done = subprocess.run(
            [python(), "-m", "seqkit", *words[:1], *size.split(), *words[1:], "run_dir=run"],
            cwd=tmp_path, env=environment(), text=True, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 5, done.stderr
        assert "Traceback" not in done.stderr
        assert "memory" in done.stderr
    del filling
    torch.cuda.empty_cache()
    tell("a GPU that another program fills", 2)


@pytest.mark.gpu
def test_a_training_on_a_gpu_saves_for_every_signal(
    text_file: Path, tmp_path: Path, tell: Tell
) -> None:
    words = ["recipe=shakespeare", *ON_GPU, "model.hidden_size=64", "device=cuda"]
    words += [f"data.path={text_file}", "train.max_steps=1000000", "resume=auto"]
    for sent in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGKILL):
        run = tmp_path / sent.name
        with subprocess.Popen(
            [python(), "-m", "seqkit", *words, f"run_dir={run}"], env=environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as training:  # fmt: skip
            wait_for_steps(run, 100)
            training.send_signal(sent)
            _, said = training.communicate()
        assert training.returncode == (-9 if sent is signal.SIGKILL else 75), said
    tell("signals to a training on a GPU", 4)
