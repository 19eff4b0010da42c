"""A network learns from others, and several predict together."""

from pathlib import Path

import numpy as np
import pytest

import seqkit
from seqkit.runs import resume
from tests.conftest import SENTENCE, TINY, Run, saved, summary_of

WRITTEN = "train.teacher_symbols=10000"


def words(folder: Path, *teachers: Path) -> list[str]:
    names = ",".join(map(str, teachers))
    return [*TINY, f"data.path={folder / 'text.txt'}", f"train.teachers=[{names}]", WRITTEN]


@pytest.fixture
def other(run: Run, trained: Path, tmp_path: Path) -> Path:
    """A second teacher, which knows less."""
    (tmp_path / "text.txt").write_text(SENTENCE * 100)
    data = f"data.path={tmp_path / 'text.txt'}"
    run.ok(*TINY, data, f"run_dir={tmp_path / 'other'}", "train.max_steps=20", "seed=5")
    return tmp_path / "other"


def test_a_student_learns_from_its_teachers_and_goes_on(
    run: Run, trained: Path, other: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = [*words(tmp_path, trained, Path("other")), "optimizer.schedule=constant"]
    told = run.ok(*asked, "train.max_steps=60", f"run_dir={tmp_path / 'whole'}").err
    assert "the network learns 10,000 symbols that 2 teachers write" in told
    part = run.ok(*asked, "train.max_steps=30", f"run_dir={tmp_path / 'halves'}")
    assert part.code == 0
    run.ok(*asked, "train.max_steps=60", f"run_dir={tmp_path / 'halves'}", "resume=auto")
    whole, halves = (saved(tmp_path / name, "last") for name in ("whole", "halves"))
    assert all(np.array_equal(halves.weights[name], each) for name, each in whole.weights.items())
    assert whole.config["train"]["teachers"] == [str(trained), str(other)]
    assert resume.read_config(tmp_path / "whole").train.teachers == [str(trained), str(other)]
    refused = [*words(tmp_path, trained), "train.max_steps=90", f"run_dir={tmp_path / 'halves'}"]
    assert "train.teachers" in run.fails(2, *refused, "resume=auto")


def test_it_comes_near_to_a_teacher_without_reading_its_text(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    (tmp_path / "text.txt").write_text(SENTENCE * 100)
    asked = [*words(tmp_path, trained), "train.max_steps=150", "optimizer.lr=0.02"]
    run.ok(*asked, f"run_dir={tmp_path / 'student'}", "train.teacher_symbols=40000")
    student, teacher = (
        summary_of(folder)["best_validation_loss"] for folder in (tmp_path / "student", trained)
    )
    assert student < teacher + 0.25


@pytest.mark.parametrize(
    ("code", "said", "more"),
    [
        (2, "without ends of documents", ["model.ends=true"]),
        (2, "does not fit: it has other symbols", ["data=bytes"]),
        (2, "a list, as in train.teachers=[a,b]", ["train.teachers=nowhere"]),
        (2, "a list, as in train.teachers=[a,b]", ["train.teachers=a,b"]),
        (5, "a smaller train.teacher_symbols", ["train.teacher_symbols=2000000000"]),
        (4, "nowhere", ["train.teachers=[nowhere]"]),
        (2, "train.teacher_symbols", ["train.teacher_symbols=9"]),
    ],
)
def test_what_cannot_be_learnt_from_teachers_is_refused(
    code: int, said: str, more: list[str], run: Run, trained: Path, tmp_path: Path
) -> None:
    (tmp_path / "text.txt").write_text(SENTENCE * 100)
    if "model.ends=true" in more:
        (tmp_path / "more.txt").write_text(SENTENCE * 100)
        more = [*more, f"data.path={tmp_path}"]
    asked = [*words(tmp_path, trained), *more, f"run_dir={tmp_path / 'run'}"]
    assert said in run.fails(code, *asked)
    assert not (tmp_path / "run").exists()


def test_an_ensemble_is_the_mean_of_probabilities(
    run: Run, trained: Path, other: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(SENTENCE * 3)
    data = f"data.path={tmp_path / 'a.txt'}"
    together = ["evaluate", f"checkpoint={trained}", f"ensemble=[{other}]", data, "device=cpu"]
    found = run.json(*together)
    each = [seqkit.load(folder, "cpu").nats(SENTENCE * 3) for folder in (trained, other)]
    expected = -np.log(np.mean(np.exp(-np.stack(each)), axis=0))
    assert found["loss"] == pytest.approx(expected.mean(), abs=1e-5)
    assert found["ensemble"] == [str(other)]
    dynamic = run.json(*together, "protocol=dynamic", "dynamic.rate=1e-9")
    assert dynamic["loss"] == pytest.approx(found["loss"], abs=1e-4)
    assert "not by windowed" in run.fails(2, *together, "protocol=windowed")
    bytes_run = tmp_path / "bytes"
    run.ok(*TINY, "data=bytes", data, "train.max_steps=1", f"run_dir={bytes_run}")
    said = run.fails(2, *together[:2], f"ensemble=[{bytes_run}]", data)
    assert f"{bytes_run} does not fit: it has other symbols" in said


def test_a_member_that_may_know_the_part_is_told_of(
    run: Run, trained: Path, other: Path, tmp_path: Path
) -> None:
    data = f"data.path={tmp_path / 'text.txt'}"
    run.ok(*TINY, data, f"run_dir={tmp_path / 'c'}", "train.max_steps=1", "data.split=0.95,0.05,0")
    together = ["evaluate", f"checkpoint={other}", "device=cpu"]
    leak = "it may have learnt what it is judged by here"
    assert leak in run.ok(*together, f"ensemble=[{tmp_path / 'c'}]").err
    assert leak not in run.ok(*together, f"ensemble=[{tmp_path / 'c'}]", data).err
    assert leak not in run.ok(*together, f"ensemble=[{other}]").err
    taught = [*words(tmp_path, tmp_path / "c"), "train.max_steps=1"]
    assert leak in run.ok(*taught, f"run_dir={tmp_path / 'd'}").err
