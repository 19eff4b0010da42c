"""Characters that hide, turn a line or command a terminal are seen there, and kept elsewhere."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import TINY, Run
from tests.terminal import on_terminal
from tests.warm_python import python

HOSTILE = "\x1b\u2028\u200f\u202e\ue000"
SEEN = [r"\x1b", r"\u2028", r"\u200f", r"\u202e", r"\ue000"]


def rows(program: list[str], cwd: Path) -> str:
    """What a terminal shows of a command in the end; a code that it does not know fails."""
    with on_terminal([python(), "-m", "seqkit", *program], 200, cwd, whole=True) as terminal:
        while terminal.read():
            pass
        assert terminal.program.wait() == 0
    return "\n".join(terminal.screen.rows)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "text.txt"
    path.write_text(HOSTILE * 200)
    return path


@pytest.mark.thorough
def test_samples_of_a_training_and_of_generate(text: Path, run: Run) -> None:
    words = [*TINY, f"data.path={text}", "run_dir=run", "train.max_steps=4"]
    shown = rows([*words, "train.validate_every=2"], text.parent)
    before, finished, closing = shown.partition("finished: ")
    assert finished
    for seen in SEEN:
        assert seen in before
        assert seen in closing
    assert not set(HOSTILE) & set(shown)
    again = ["generate", "checkpoint=run", "seed=1", "length=60"]
    shown = rows(again, text.parent)
    assert not set(HOSTILE) & set(shown)
    assert all(seen in shown for seen in SEEN)
    plain = run("generate", f"checkpoint={text.parent / 'run'}", *again[2:])
    assert set(HOSTILE) <= set(plain.out.decode())


def test_names_in_the_table_of_compare_and_in_a_config(trained: Path, tmp_path: Path) -> None:
    name = f"a{HOSTILE}b"
    shutil.copytree(trained, tmp_path / "runs" / name)
    shutil.copytree(trained, tmp_path / "runs" / "c")
    shown = rows(["compare"], tmp_path)
    assert not set(HOSTILE) & set(shown)
    heading, *runs = shown.splitlines()
    assert len(runs) == 2
    assert {row.find("finished") for row in runs} == {heading.find("outcome")}
    shown = rows([*TINY, f"run_dir={name}", "--cfg"], tmp_path)
    assert not set(HOSTILE) & set(shown)


def test_an_error_names_a_file_visibly(tmp_path: Path, run: Run) -> None:
    refused = run.fails(3, *TINY, f"data.path={tmp_path / HOSTILE}")
    assert not set(HOSTILE) & set(refused)
