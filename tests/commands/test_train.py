"""Training as a user runs it: what comes out."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from tests.conftest import (
    SENTENCE,
    TINY,
    Run,
    environment,
    fill_disk,
    metrics_of,
    start,
    summary_of,
    wait_for_steps,
    weights,
)


def test_a_source_tree_just_works(run: Run, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / ".git").mkdir(parents=True)
    (tree / ".git" / "config").write_text("[core]\n")
    (tree / "main.c").write_text("int main(void) { return 0; }\n" * 20)
    (tree / "main.o").write_bytes(b"\x7fELF\0")
    (tree / "main.h").write_text("int main(void);\n" * 20)
    words = [*TINY, f"data.path={tree}", f"run_dir={tmp_path / 'run'}", "train.max_steps=2"]
    assert "2 files of text taken; left out: 1 hidden, 1 not text\n" in run.ok(*words).err
    run.ok("evaluate", f"checkpoint={tmp_path / 'run'}", "device=cpu")
    chosen = run.ok(*words, "data.pattern=*.H,*.hpp", "overwrite=true")
    assert "1 file of text taken; left out: 1 hidden, 2 not *.H,*.hpp\n" in chosen.err
    run.ok("evaluate", f"checkpoint={tmp_path / 'run'}", "device=cpu")
    (tree / "main.cc").write_text("int more;\n")
    resumed = run.ok(*words[:-1], "train.max_steps=3", "resume=auto")  # with the run's own pattern
    assert "1 file of text taken" in resumed.err


def test_a_run_leaves_what_the_design_says(trained: Path) -> None:
    names = {path.name for path in trained.iterdir()} - {".lock"}
    files = "report.html config.yaml about.json metrics.jsonl summary.json log"
    assert names == {*files.split(), "samples", "checkpoints"}
    kept = {path.stem for path in (trained / "checkpoints").iterdir()}
    assert kept == {"last", "previous", "best"}
    events = metrics_of(trained)
    validate = [event for event in events if event["event"] == "validate"]
    assert [event["step"] for event in validate] == [50, 100, 150]
    summary = summary_of(trained)
    assert summary["settings"] == yaml.safe_load((trained / "config.yaml").read_text())
    assert summary["best_validation_loss"] == min(event["loss"] for event in validate)
    assert summary["best_validation_loss"] < 0.3  # the sentence is learnt
    assert len(list((trained / "samples").iterdir())) == 3


def test_stdout_is_the_closing_sample_alone(run: Run, tiny: list[str], tmp_path: Path) -> None:
    result = run.ok(*tiny, "train.max_steps=2", "prompt=the rain", "length=17", "seed=4")
    assert result.out.decode().startswith("the rain")
    assert len(result.out.decode()) == len("the rain") + 17
    assert "validation loss" in result.err
    again = run(
        "generate", f"checkpoint={tmp_path / 'a'}", "prompt=the rain", "length=17", "seed=4"
    )
    assert again.out == result.out


def test_quiet_says_nothing_on_stderr(run: Run, tiny: list[str]) -> None:
    result = run(*tiny, "train.max_steps=2", "quiet=true")
    assert (result.code, result.err) == (0, "")


def test_fine_tuning_takes_weights_and_nothing_else(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    text = tmp_path / "new.txt"
    text.write_text("the plain in the rain stays in spain.\n" * 30)
    run.ok(
        *TINY, f"data.path={text}", f"run_dir={tmp_path / 'b'}", f"init_from={trained}",
        "train.max_steps=1", "optimizer.lr=1e-9", "optimizer.warmup_steps=0",
    )  # fmt: skip
    before, after = weights(trained, "best"), weights(tmp_path / "b")
    for name, value in before.items():
        torch.testing.assert_close(after[name], value, atol=1e-6, rtol=0)
    text.write_text("Ünknown letters\n" * 30)
    words = [*TINY, f"data.path={text}", f"run_dir={tmp_path / 'c'}", f"init_from={trained}"]
    refused = run.fails(3, *words, "data.max_vocabulary=2")  # no room for them
    assert "'Ü'" in refused
    assert "data.unknown" in refused
    assert not (tmp_path / "c").exists()


@pytest.mark.thorough
def test_nohup_is_respected_and_a_lost_stderr_stops_nothing(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(SENTENCE * 60)
    command = [sys.executable, "-m", "seqkit", *TINY, f"data.path={text}", "train.max_steps=160"]
    with subprocess.Popen(
        ["nohup", *command, f"run_dir={tmp_path / 'run'}", "train.validate_every=20"],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as training:
        wait_for_steps(tmp_path / "run", 10)
        training.send_signal(signal.SIGHUP)
        assert training.stderr is not None
        training.stderr.close()
        assert training.wait() == 0
    assert summary_of(tmp_path / "run")["steps"] == 160


def test_without_validation_the_best_is_the_last(run: Run, tiny: list[str], tmp_path: Path) -> None:
    run.ok(*tiny, "train.max_steps=5", "data.split=[1,0,0]", "train.average=0")
    best, last = weights(tmp_path / "a", "best"), weights(tmp_path / "a", "last")
    assert all(np.array_equal(best[name], last[name]) for name in best)
    assert summary_of(tmp_path / "a")["best_validation_loss"] is None


@pytest.mark.parametrize(
    ("files", "told"), [(".step_*", "no sample at step 2"), (".report*", "no report: cannot write")]
)
def test_a_sample_or_a_page_that_fails_ends_no_training(
    files: str,
    told: str,
    run: Run,
    tiny: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill_disk(monkeypatch, files=files)
    done = run.ok(*tiny, "train.max_steps=4", "train.validate_every=2")
    assert told in done.err
    assert "no space left on device" in done.err
    assert not list((tmp_path / "a").rglob(files[1:]))


def test_a_signal_in_the_closing_sample_ends_it_in_a_line(text_file: Path, tmp_path: Path) -> None:
    training = start(tmp_path / "a", text_file, "train.max_steps=2", "length=100000000")
    assert training.stdout is not None
    begun = training.stdout.read(200)
    training.send_signal(signal.SIGTERM)
    rest, err = training.communicate(timeout=600)
    assert training.returncode == 75, err
    assert 200 <= len(begun + rest) < 100_000_000
    assert err.endswith("stopped by SIGTERM: the files that it wrote are whole\n")
    assert summary_of(tmp_path / "a")["steps"] == 2
