"""Lists of names and of poems are known by their lines; prose, plays, chats and code are none."""

import random
import shlex
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from seqkit.advice.text import is_list
from seqkit.data import datasets
from tests.conftest import Run

VERSE = "the moon over silver water sings a song of old grey stones and night birds fall"
WORDS, SYLLABLES = VERSE.split(), "ka lo mi ra te su no vi".split()  # noqa: SIM905
FORMS: dict[str, Callable[[random.Random], str]] = {
    "name": lambda r: "".join(r.choices(SYLLABLES, k=5)).title(),
    "title": lambda r: " ".join(r.choices(WORDS, k=5)).title(),
    "sentence": lambda r: " ".join(r.choices(WORDS, k=6)) + ".",
    "said": lambda r: f"{r.choice(['Anna', 'Ben'])}: {' '.join(r.choices(WORDS, k=6))}",
    "code": lambda r: " " * r.choice([0, 4, 8]) + " = ".join(r.choices(WORDS, k=4)),
    "prose": lambda r: "\n".join(textwrap.wrap(" ".join(r.choices(WORDS, k=90)), 70)),
    "paragraph": lambda r: " ".join(r.choices(WORDS, k=60)),
    "poem": lambda r: "\n".join(
        " ".join(r.choices(WORDS, k=6)) + "," for _ in range(r.randint(4, 9))
    ),
    "speech": lambda r: r.choice(["ROMEO:", "JULIET:", "NURSE."]) + "\n" + FORMS["poem"](r),
}


BUILT_IN = Path(datasets.__file__).parent / "verse.txt"


@pytest.mark.parametrize(
    ("form", "between", "expected"),
    [
        ("name", "\n", True),
        ("name", "\r\n", True),
        ("title", "\n", True),
        *((form, "\n", False) for form in ("sentence", "said", "code", "prose", "poem")),
        *((form, "\n\n", False) for form in ("prose", "paragraph", "speech", "poem", "name")),
    ],
)
def test_a_list_is_known_by_its_lines(form: str, between: str, expected: bool) -> None:
    rng = random.Random(1)
    content = between.join(FORMS[form](rng) for _ in range(400))
    assert is_list(content) == expected
    assert not is_list(between.join(FORMS[form](rng) for _ in range(15)))  # too few to tell
    assert not is_list(content[:200] * 40)  # the same again and again


def test_numbers_tables_and_lists_beside_prose_are_none(run: Run, tmp_path: Path) -> None:
    assert not is_list("\n".join(f"{n / 1000} {n % 7}" for n in range(400)))
    names = "\n".join(FORMS["name"](random.Random(n)) for n in range(400))
    (tmp_path / "a.csv").write_text(names)
    assert (
        "looks like a list" not in run.ok("doctor", f"data.path={tmp_path / 'a.csv'}").out.decode()
    )
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "a.txt").write_text(names)
    (tmp_path / "both" / "b.txt").write_text(BUILT_IN.read_text())
    assert (
        "looks like a list" not in run.ok("doctor", f"data.path={tmp_path / 'both'}").out.decode()
    )


def test_what_doctor_advises_stands_in_its_command(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(BUILT_IN.read_text()[:9000])
    found = run.json("doctor", f"data.path={file}", "device=cpu")
    assert any("init_from=shakespeare" in fault for fault in found["faults"])
    words = shlex.split(found["recommendation"]["command"])[3:]
    assert "init_from=shakespeare" in words
    assert not any(word.startswith("model.") for word in words)  # it brings its network
    run.ok(*words, f"run_dir={tmp_path / 'a'}", "train.max_steps=1", "train.max_minutes=0.05")


def test_doctor_recommends_what_fits_a_list(run: Run, tmp_path: Path) -> None:
    rng, file = random.Random(2), tmp_path / "names.txt"
    file.write_text("\n".join(FORMS["name"](rng) for _ in range(4000)))
    told = run.ok("doctor", f"data.path={file}", "device=cpu").out.decode()
    assert "the text looks like a list" in told and "the text is short" not in told
    assert "recipe=names" in told.partition("Train with")[2]
    again = run.ok("doctor", f"data.path={file}", "data.document=line").out.decode()
    assert "looks like a list" not in again
