"""A sweep tells what came of each run, stops no other for one that fails, and can be resumed."""

import json
import re
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.conftest import SENTENCE, TINY, Run, environment, wait_for_steps
from tests.warm_python import python


def sweep(folder: Path, *more: str) -> list[str]:
    """The command line of a sweep into a folder."""
    return ["--multirun", *TINY, f"run_dir={folder}", "train.max_steps=3", *more]


def table(err: str) -> list[list[str]]:
    """The rows of the table, by cells."""
    _, _, rows = err.partition("=== multirun: the whole sweep ===\n")
    lines = [line for line in rows.splitlines() if re.match(r"\d+ ", line)]
    return [re.split("  +", line) for line in lines]


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    """`data.path` of two texts and of one that is not there, in between."""
    for name in ("a b.txt", "c.txt"):
        (tmp_path / name).write_text(SENTENCE * 40)
    return [f"data.path={tmp_path / name}" for name in ("a b.txt", "none.txt", "c.txt")]


def test_it_ends_with_a_table_on_stderr_and_the_first_failures_code(
    run: Run, texts: list[str], tmp_path: Path
) -> None:
    done = run(*sweep(tmp_path / "s", *texts, "seed=1,2", "length=20"))
    assert done.code == 3
    first, lost, *_, last = table(done.err)
    summary = json.loads((tmp_path / "s" / "0" / "summary.json").read_text())
    assert first[:2] == ["0", f"{summary['best_validation_loss']:.4f}"]
    assert re.fullmatch(r"\d+:\d\d", first[2])
    assert first[3:] == ["finished", f"seed=1 {texts[0]}"]
    assert lost == ["1", "-", "-", "failed, exit code 3", f"seed=1 {texts[1]}"]
    assert (last[0], last[3:]) == ("5", ["finished", f"seed=2 {texts[2]}"])
    heading = f"=== multirun: run 3 of 6, in {tmp_path / 's' / '2'}: seed=1 {texts[2]} ==="
    assert f"\n\n{heading}\n" in done.err
    samples = done.out.decode()
    assert "multirun" not in samples
    assert len(samples) == 4 * 20 + 3 * len("\n\n")
    assert {samples[place : place + 2] for place in (20, 42, 64)} == {"\n\n"}


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("launcher", [(), ("launcher=local", "jobs=1")])
def test_a_sweep_takes_no_run_of_one_that_was_to_end_elsewhere(
    run: Run, texts: list[str], launcher: tuple[str, ...], tmp_path: Path
) -> None:
    words = [*sweep(tmp_path / "s", texts[0]), *launcher]
    assert run(*words, "train.max_steps=2,3").code == 0
    before = (tmp_path / "s" / "0" / "summary.json").read_bytes()
    other = run(*words, "train.max_steps=1,2,3")
    assert other.code == 2
    said = f"train.max_steps=1: the run in {tmp_path / 's' / '0'} has train.max_steps=2: give that"
    assert said in other.err
    (tmp_path / "s" / "0" / "config.yaml").unlink()
    other = run(*words, "train.max_steps=1,2,3")
    assert (other.code, said in other.err) == (2, True)
    assert (tmp_path / "s" / "0" / "summary.json").read_bytes() == before
    more = run(*words, "train.max_steps=2,3,1")
    assert more.code == 0, more.err
    assert [row[3] for row in table(more.err)[:2]] == ["finished before"] * 2
    assert run(*words, "train.max_steps=1,2", "overwrite=true").code == 0


@pytest.mark.thorough
def test_a_sweep_takes_no_run_of_other_weights_data_or_settings(
    run: Run, trained: Path, texts: list[str], tmp_path: Path
) -> None:
    tuned = [*sweep(tmp_path / "s", texts[0], "seed=1,2"), f"init_from={trained}"]
    assert run(*tuned).code == 0
    assert run(*tuned).code == 0
    anew = run(*tuned[:-1])
    assert (anew.code, f"has init_from={trained}: give that" in anew.err) == (2, True)
    other = run(*[word for word in tuned if not word.startswith("data.path=")])
    assert (other.code, f"has {texts[0]}: give that" in other.err) == (2, True)
    forced = run(*tuned, "optimizer.lr=0.5", "resume=force")
    assert forced.code == 2
    assert {row[3] for row in table(forced.err)} == {"failed, exit code 2"}


def test_when_quiet_each_failure_is_told_with_its_number(
    run: Run, texts: list[str], tmp_path: Path
) -> None:
    done = run(*sweep(tmp_path / "s", texts[1], "seed=1,2", "quiet=true"))
    assert done.code == 3
    first, number, *others = done.err.splitlines()
    assert first.startswith("seqkit: error: ")
    assert number == "[0] failed, exit code 3"
    assert others == [first, "[1] failed, exit code 3"]


@pytest.mark.thorough
def test_a_stopped_sweep_goes_on_by_the_line_that_it_told(texts: list[str], tmp_path: Path) -> None:
    keys = ("seed=1,2,3", "train.max_steps=90", "data.split=[0.8,0.2,0]")
    words = sweep(tmp_path / "it's", texts[0], *keys)
    with subprocess.Popen(
        [python(), "-m", "seqkit", *words, "resume=never"], env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as stopped:  # fmt: skip
        wait_for_steps(tmp_path / "it's" / "1", 1)
        stopped.send_signal(signal.SIGTERM)
        _, err = stopped.communicate()
    assert stopped.returncode == 75, err
    assert [row[3] for row in table(err)] == ["finished", "stopped", "not started"]
    line = err.splitlines()[-1].partition("go on with the whole sweep: ")[2]
    assert line.startswith("python -m seqkit --multirun ")
    script = line.replace("python", f'"{python()}"', 1)
    done = subprocess.run(
        ["bash", "-c", script], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [row[3] for row in table(done.stderr)] == ["finished before", "finished", "finished"]
    assert done.stderr.count("this run is finished, at step 90") == 1
    assert "going on at step" in done.stderr
    assert len(list((tmp_path / "it's").glob("*/summary.json"))) == 3


@pytest.mark.thorough
@pytest.mark.parametrize("how", [[], ["launcher=local", "jobs=1"]])
def test_a_sweep_that_replaces_another_and_is_stopped_mixes_nothing(
    how: list[str], texts: list[str], tmp_path: Path, run: Run
) -> None:
    folder = tmp_path / "s"
    first = sweep(folder, texts[0], "seed=1,2,3,4", "train.max_steps=2")
    assert run(*first).code == 0
    other = [*sweep(folder, texts[0], "seed=1,2,3", "optimizer.lr=0.002"), *how]
    with subprocess.Popen(
        [python(), "-m", "seqkit", *other, "overwrite=true", "train.max_steps=1000000"],
        env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as stopped:  # fmt: skip
        wait_for_steps(folder / "0", 10)
        stopped.send_signal(signal.SIGTERM)
        _, err = stopped.communicate()
    assert stopped.returncode == 75, err
    assert f"left as they are, since this sweep has fewer runs: {folder / '3'}\n" in err
    assert [row[1:4] for row in table(err)[1:]] == [["-", "-", "not started"]] * 2
    assert "overwrite" not in err.partition("go on with the whole sweep: ")[2]
    done = run(*other, "resume=auto", "train.max_steps=1")
    assert done.code == 0, done.err
    rates = [(folder / name / "config.yaml").read_text() for name in "012"]
    assert all("lr: 0.002" in text for text in rates)


def test_a_sweep_whose_data_is_gone_replaces_nothing(
    texts: list[str], tmp_path: Path, run: Run
) -> None:
    assert run(*sweep(tmp_path / "s", texts[0], "seed=1", "train.max_steps=2")).code == 0
    failed = run(*sweep(tmp_path / "s", texts[1], "seed=1"), "overwrite=true")
    assert failed.code == 3
    assert (tmp_path / "s" / "0" / "summary.json").exists()


def test_a_run_whose_sample_is_interrupted_is_finished(texts: list[str], tmp_path: Path) -> None:
    words = sweep(tmp_path / "s", texts[0], "seed=1,2", "length=100000000")
    with subprocess.Popen(
        [python(), "-m", "seqkit", *words], env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        assert running.stdout
        running.stdout.read(20)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=600)
    assert running.returncode == 130, err
    assert [row[3] for row in table(err)] == ["finished", "not started"]
    assert "go on with the whole sweep: " in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["recipe=shakespeare", "resume=auto", "seed=1,2"],
            "give run_dir=FOLDER, the sweep",
        ),
        (["run_dir=s", "resume=auto", "seed=1,2"], "no recipe: a sweep needs one"),
        (["seed=1,2"], "no recipe: a sweep needs one"),
        (["recipe=shakespeare", "seed=1,2,x"], "seed=x"),
        (["recipe=shakespeare", "model.dropout=0.1,0.2,7"], "at most 0.95"),
        (["recipe=shakespeare,shakespear"], "did you mean shakespeare?"),
    ],
)
def test_all_runs_are_checked_before_the_first(
    words: list[str], said: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run("--multirun", *words)
    assert (refused.code, said in refused.err) == (2, True), refused.err
    assert refused.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_quiet_sweep_prints_its_samples_alone(run: Run, texts: list[str], tmp_path: Path) -> None:
    done = run(*sweep(tmp_path / "s", texts[0], "seed=1,2", "length=20", "quiet=true"))
    assert (done.code, done.err, len(done.out)) == (0, "", 42)


def test_names_of_sound_stand_one_a_line(run: Run, tmp_path: Path) -> None:
    wave = np.sin(np.arange(4000) * 0.3).astype(np.float32)
    soundfile.write(tmp_path / "tone.wav", wave, 8000)
    words = [word for word in sweep(tmp_path / "s") if word != "recipe=shakespeare"]
    keys = ("recipe=wav_generation", f"data.path={tmp_path / 'tone.wav'}", "length=200", "seed=1,2")
    done = run(*words, *keys)
    assert done.code == 0, done.err
    files = [tmp_path / "s" / name / "samples" / "final.wav" for name in "01"]
    assert done.out.decode() == "".join(f"{file}\n" for file in files)


def test_a_reader_who_leaves_ends_no_sweep(texts: list[str], tmp_path: Path) -> None:
    words = sweep(tmp_path / "s", texts[0], "seed=1,2,3", "length=20")
    with subprocess.Popen(
        [python(), "-m", "seqkit", *words], env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        assert running.stdout and running.stderr
        running.stdout.read(20)
        running.stdout.close()
        err = running.stderr.read()
    assert running.returncode == 0, err
    assert [row[3] for row in table(err)] == ["finished"] * 3
