"""What a checkpoint names is looked for among plug-ins, and never imported."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import SENTENCE, SMALL, Run

MODULE = """
from pathlib import Path
from seqkit.data.codecs import Characters
from seqkit.data.datasets import Located

class Shifted(Characters):
    name = "shifted"

class Rain:
    def locate(self, folders):
        return Located(Path(__file__).with_name("rain"), "rain", validation="b.txt")

DATASETS = {"rain": Rain()}
CODECS = {"shifted": Shifted}
"""
NAME = "rain_plug_in"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module of the user's in the current folder; its name."""
    (tmp_path / f"{NAME}.py").write_text(MODULE)
    (tmp_path / "rain").mkdir()
    (tmp_path / "rain" / "a.txt").write_text(SENTENCE * 20)
    (tmp_path / "rain" / "b.txt").write_text(SENTENCE * 2)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    monkeypatch.chdir(tmp_path)
    yield NAME
    sys.modules.pop(NAME, None)


def train(run: Run, *words: str) -> None:
    run.ok("train", *words, *SMALL, "run_dir=run", "train.max_steps=2")


def test_what_a_plug_in_prints_is_no_result(module: str, run: Run) -> None:
    chatty = MODULE.replace("    def locate", "    print('at import')\n\n    def locate").replace(
        '    name = "shifted"',
        '    name = "shifted"\n    def decode(self, symbols):\n'
        "        print('at work')\n        return super().decode(symbols)",
    )
    Path(f"{module}.py").write_text(chatty)
    train(run, "recipe=shakespeare", "data.dataset=rain", f"plugins={module}", "data.codec=shifted")
    made = run(
        "generate", "checkpoint=run", f"plugins={module}", "length=9", "seed=1", "device=cpu"
    )
    assert (made.code, len(made.out)) == (0, 9), made.err
    assert "at work" in made.err
    assert run.json("evaluate", "checkpoint=run", f"plugins={module}", "device=cpu")[
        "symbols"
    ] == 2 * len(SENTENCE)


def test_evaluate_finds_the_data_set_of_a_module_again(module: str, run: Run) -> None:
    train(run, "recipe=shakespeare", "data.dataset=rain", f"plugins={module}")
    scored = run.ok("evaluate", "checkpoint=run", f"plugins={module}", "device=cpu", "json=true")
    assert f'"symbols": {2 * len(SENTENCE)}' in scored.out.decode()
    sys.modules.pop(module)
    alone = run("evaluate", "checkpoint=run", "device=cpu")
    assert (alone.code, module in sys.modules) == (3, False)
    assert "data.dataset=rain was not found" in alone.err
    assert f"plugins={module}, as in the training" in alone.err


def test_the_codec_of_a_module_is_asked_for(module: str, run: Run) -> None:
    train(run, "recipe=shakespeare", f"plugins={module}", "data.codec=shifted", "data.path=rain")
    words = ["generate", "checkpoint=run", "prompt=the ", "length=9", "device=cpu"]
    made = run(*words, f"plugins={module}")
    assert (made.code, made.out[:4]) == (0, b"the "), made.err
    sys.modules.pop(module)
    alone = run(*words)
    assert (alone.code, module in sys.modules) == (4, False)
    assert "its codec shifted was not found" in alone.err
    assert f"plugins={module}, as in its training" in alone.err


@pytest.mark.parametrize("recipe", ["recipe=shakespeare", ""])
def test_the_command_line_of_doctor_names_the_module(recipe: str, module: str, run: Run) -> None:
    words = [*filter(None, [recipe]), "data.dataset=rain", "data.codec=shifted"]
    found = run.json("doctor", *words, f"plugins={module}", "device=cpu", "train.max_minutes=0.05")
    assert f"plugins={module}" in found["recommendation"]["command"].split()


@pytest.mark.parametrize(
    ("used", "code", "said"),
    [
        ("data.codec=shifted", 4, "codec shifted was not found: give plugins="),
        ("data.dataset=rain", 2, "no data set named rain"),
    ],
)
def test_a_plug_in_that_only_the_folder_names_is_not_imported(
    used: str, code: int, said: str, module: str, run: Run
) -> None:
    data = [] if "dataset" in used else ["data.path=rain"]
    train(run, "recipe=shakespeare", f"plugins={module}", used, *data)
    sys.modules.pop(module)
    words = ["run_dir=run", "resume=auto", "train.max_steps=4"]
    refused = run(*words)
    assert (refused.code, module in sys.modules) == (code, False), refused.err
    assert said in refused.err
    assert f"generate checkpoint=run plugins={module}" in run.ok(*words, f"plugins={module}").err
