"""Names in a list, as a user meets them: trained, made, scored, fine-tuned."""

import json
from pathlib import Path

import numpy as np
import pytest

import seqkit
from seqkit.cli import main
from tests.conftest import SMALL, Run, saved, shared

SHORT = tuple(word for word in SMALL if not word.startswith("length"))
LINES = ("recipe=shakespeare", "data.document=line", *SHORT, "optimizer.lr=0.02")
NAMES = {"a", "aa", "aaa", "b", "bb", "bbb"}


def names(count: int = 300) -> str:
    return "".join("ab"[number % 2] * (1 + number % 3) + "\r\n" for number in range(count))


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that learnt a list of names, which lies beside it."""

    def train(folder: Path) -> None:
        (folder / "names.txt").write_text(names(), newline="")
        words = [f"data.path={folder / 'names.txt'}", f"run_dir={folder / 'run'}"]
        assert main([*LINES, *words, "train.max_steps=150"]) == 0

    return shared(tmp_path_factory, "listed", train) / "run"


@pytest.mark.parametrize("engine", ["torch", "wasm"])
def test_names_are_made_one_a_line(engine: str, run: Run, listed: Path) -> None:
    words = ["generate", f"checkpoint={listed}", f"sample.engine={engine}", "temperature=1"]
    shown = run.ok(*words, "streams=60", "seed=2").out.decode()
    made = shown.removesuffix("\n").split("\n")
    assert shown.endswith("\n") and len(made) == 60
    assert sum(name in NAMES for name in made) > 50
    assert len(run.ok(*words, "streams=1", "length=40").out) == 40  # what is asked for counts
    begun = run.ok(*words, "prompt=b", "seed=1").out.decode()
    assert begun in NAMES and begun.startswith("b")


def test_a_training_shows_ten(run: Run, listed: Path, tmp_path: Path) -> None:
    data = f"data.path={listed.parent / 'names.txt'}"
    shown = run.ok(*LINES, data, f"run_dir={tmp_path / 'a'}", "train.max_steps=100")
    assert len(shown.out.decode().splitlines()) == 10
    for document, between in (("bbb\\n", "\n\n"), ("line", "\n")):
        words = [data, f"run_dir={tmp_path / document[:4]}", f"data.document={document}"]
        shown = run.ok(*LINES, *words, "train.max_steps=1", "temperature=0")
        assert shown.out.decode().count(between) >= 9


def test_a_list_goes_to_one_file(run: Run, listed: Path, trained: Path, tmp_path: Path) -> None:
    file, words = tmp_path / "names.txt", ["streams=20", "seed=2", f"out={tmp_path / 'names.txt'}"]
    told = run.ok("generate", f"checkpoint={listed}", *words, "quiet=false")
    assert told.out == b"" and f"written: {file}" in told.err
    shown = run.ok("generate", f"checkpoint={listed}", *words[:2]).out
    assert [*tmp_path.iterdir()] == [file] and file.read_bytes() == shown
    assert "exists" in run.fails(6, "generate", f"checkpoint={listed}", *words)
    run.ok("generate", f"checkpoint={trained}", *words, "length=9")
    assert len([*tmp_path.iterdir()]) == 21  # other text has a file for each


@pytest.mark.thorough
def test_what_is_known_of_a_list_counts_for_others(run: Run, listed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("aa\nbb\n\nb")
    scored = json.loads(
        run.ok("evaluate", f"checkpoint={listed}", f"data.path={other}", "json=true").out
    )
    assert scored["symbols"] == 5
    assert json.loads(run.ok("evaluate", f"checkpoint={listed}", "json=true").out)["symbols"] > 9
    lines = run.ok("score", f"checkpoint={listed}", f"data.path={other}").out.decode()
    assert len(lines.splitlines()) == 5
    tuned, again = tmp_path / "tuned", tmp_path / "again"
    other.write_text("bbb\r\naa\n" * 90, newline="")
    words = ["recipe=shakespeare", *SHORT, f"data.path={other}", f"init_from={listed}"]
    told = run.ok(*words, f"run_dir={tuned}", "train.max_steps=40")
    assert "data.document=line, as in the training of the checkpoint" in told.err
    made = run.ok("generate", f"checkpoint={tuned}", "streams=9", "seed=1").out.decode()
    assert {*made.split("\n")} <= {*NAMES, ""}
    run.ok(*words, f"run_dir={again}", "train.max_steps=20")
    run.ok(*words, f"run_dir={again}", "train.max_steps=40", "resume=auto")
    first, second = saved(tuned).weights, saved(again).weights
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_a_run_goes_on_with_its_documents_alone(run: Run, listed: Path, tmp_path: Path) -> None:
    words = [*LINES, f"data.path={listed.parent / 'names.txt'}", f"run_dir={tmp_path / 'a'}"]
    run.ok(*words, "train.max_steps=3")
    run.ok(f"run_dir={tmp_path / 'a'}", "resume=auto", "train.max_steps=6")
    assert saved(tmp_path / "a").metrics["step"] == 6
    without = [word for word in words if not word.startswith("data.document")]
    assert "data.document" in run.fails(2, *without, "resume=auto", "train.max_steps=9")


def test_ends_may_be_left_out(run: Run, listed: Path, tmp_path: Path) -> None:
    words = [*LINES, f"data.path={listed.parent / 'names.txt'}", f"run_dir={tmp_path / 'a'}"]
    run.ok(*words, "model.ends=false", "train.max_steps=1")
    assert saved(tmp_path / "a").model.symbols == saved(listed).model.symbols
    made = run.ok("generate", f"checkpoint={tmp_path / 'a'}", "length=30").out
    assert len(made) == 30


def test_a_list_from_python(tmp_path: Path) -> None:
    keys = ["data.document=line", *SHORT, "train.max_steps=2", f"run_dir={tmp_path / 'a'}"]
    done = seqkit.train("shakespeare", *keys, text=names())
    model = done.load("cpu")
    assert len(model.generate(length=7)) == 7
    assert 0 <= len(model.generate(seed=1)) < 500
