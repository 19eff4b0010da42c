"""The documents are true: every key is listed, every example works."""

import contextlib
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.commands import COMMANDS
from seqkit.compose import FREE_TEXT
from seqkit.foundation import errors
from tests.conftest import SMALL, Run, metrics_of, summary_of

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
MADE = {DOCS / "reference" / "commands.md", DOCS / "reference" / "keys.md"}
"""The pages that docs/generated.py makes."""
FILES = (DOCS / "reference" / "files.md").read_text()
PAGE = (DOCS / "reference" / "data.md").read_text()


def test_free_text_is_listed() -> None:
    prose = FILES.partition("## Environment")[0]
    for key in FREE_TEXT:
        assert f"`{key}`" in prose


def fields(name: str) -> list[str]:
    """The fields of a result in docs/reference/files.md, in order."""
    listed = FILES.partition(f"\n**`{name}`**\n\n")[2].partition("\n\n")[0]
    named = re.findall(r"^- (`[^:]+`): ", listed, re.M)
    return [field for part in named for field in re.findall(r"\w+", part)]


def test_the_fields_of_all_results_are_those_that_are_written(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    lines = metrics_of(trained)
    for event in ("train", "validate"):
        for line in lines:
            assert line["event"] != event or list(line) == fields(event)
    summary = summary_of(trained)
    assert list(summary) == fields("summary")
    about = json.loads((trained / "about.json").read_text())
    assert list(about) == fields("about")
    score = run.json("evaluate", f"checkpoint={trained}", "device=cpu")
    assert [*score] == fields("evaluate")
    noise = np.random.default_rng(1).uniform(-0.5, 0.5, 6000)
    soundfile.write(tmp_path / "noise.wav", noise, 4000)
    words = ["recipe=wav_generation", f"data.path={tmp_path / 'noise.wav'}", *SMALL]
    run.ok(*words, f"run_dir={tmp_path / 'run'}", "train.max_steps=1")
    evaluated = run("evaluate", f"checkpoint={tmp_path / 'run'}", "json=true", "device=cpu")
    listed = [field for field in fields("evaluate") if field != "xz_bits"]
    assert list(json.loads(evaluated.out)) == listed


def test_the_fields_of_compare_are_those_that_are_written(run: Run, trained: Path) -> None:
    shown = run.json("compare", f"runs={trained}")
    assert list(shown) == ["runs", "differing", "left_out"]
    assert list(shown["runs"][0]) == fields("compare")


def test_the_fields_of_score_are_those_that_are_written(run: Run, trained: Path) -> None:
    scored = run("score", f"checkpoint={trained}", "device=cpu")
    assert list(json.loads(scored.out.splitlines()[0])) == fields("score")


def test_every_exit_code_is_explained() -> None:
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", FILES, re.M)}
    used = {error.exit_code for error in errors.SeqkitError.__subclasses__()}
    assert codes == used | {0}


def examples(page: str) -> dict[str, str]:
    """The files that a page shows, by name."""
    return dict(
        re.findall(
            r"^`([\w/]+\.(?:py|yaml|toml))`:\n\n```\w+\n(.*?)^```",
            (DOCS / page).read_text(),
            re.M | re.S,
        )
    )


def test_the_example_of_a_data_set_of_ones_own_works(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = examples("reference/data.md")
    assert len(files) == 2
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^    python -m seqkit (.*squares.*|evaluate .*plugins.*)$", PAGE, re.M)
    assert len(commands) == 2
    try:
        run.ok(*commands[0].split(), *SMALL, "train.max_steps=2")
        assert run.json(*commands[1].split(), "device=cpu")["symbols"] > 1000
    finally:
        sys.modules.pop("my_data", None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text()
    links = re.findall(r"\]\((?!http)([^)#]+)", text)
    named = re.findall(r"\b(?:tests|seqkit|benchmarks|docs)/[\w/]+\.\w+", text)
    places = {link: (page.parent / link).resolve() for link in links}
    missing = [link for link, place in places.items() if not (place.exists() or place in MADE)]
    missing += [name for name in named if not (ROOT / name).exists()]
    assert not missing


def test_the_readme_lists_every_command() -> None:
    assert {*COMMANDS} <= {*re.findall(r"^\| `(\w+)` \|", (ROOT / "README.md").read_text(), re.M)}


def test_the_readmes_python_gives_what_the_command_gives(run: Run, trained: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    program = program.replace("ROMEO:", "the ").replace("runs/a", str(trained))
    expected = run("generate", f"checkpoint={trained}", "prompt=the ", "length=200", "seed=1")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {})
    assert printed.getvalue() == expected.out.decode() + "\n"
