"""The files around the code agree with it: citation, gate, image, sdist."""

import json
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import yaml

import seqkit

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read(path: Path) -> dict[str, Any]:
    """A file of YAML."""
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    return content


def test_the_citation_names_this_version_and_licence() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == seqkit.__version__
    assert citation["license"] == PROJECT["license"]
    (author,) = citation["authors"]
    assert f"{author['name']}\n" in (ROOT / "LICENSE").read_text()


def test_the_gate_runs_the_commands_for_contributors() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    block = page.partition("## Check a change\n\n")[2].partition("\n\n")[0]
    commands = re.split(r"\s*(?:\n|&&)\s*", block.strip())
    assert len(commands) == 5
    gate = (ROOT / ".ci" / "run").read_text().splitlines()
    assert set(commands) <= {*gate}
    assert any("mkdocs build --strict" in line for line in gate)


def test_pytorch_is_asked_for_in_the_same_words_everywhere() -> None:
    wanted = [name for name in PROJECT["dependencies"] if name.startswith("torch")]
    places = ("README.md", "docs/index.md", "Dockerfile")
    for path in (*(ROOT / place for place in places), *WORKFLOWS):
        found = re.findall(r"""["'](torch(?:audio)?[<>=][^"']*)["']""", path.read_text())
        assert {*found} == {*wanted} or (path in WORKFLOWS and not found), path.name


def test_the_development_container_installs_what_the_page_says() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    command = container["postCreateCommand"]
    assert f"    {command}\n" in (ROOT / "CONTRIBUTING.md").read_text()


def test_the_sdist_holds_examples_and_what_its_tests_read(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (file,) = tmp_path.iterdir()
    top = f"seqkit-{seqkit.__version__}"
    with tarfile.open(file) as archive:
        names = {name.removeprefix(f"{top}/") for name in archive.getnames()}
    examples = [path for path in (ROOT / "examples").iterdir() if path.is_file()]
    assert {f"examples/{path.name}" for path in examples} <= names
    kept = {".ci/run", ".github/workflows/ci.yml", "CITATION.cff", "CONTRIBUTING.md", "Dockerfile"}
    assert kept | {"LICENSE", "README.md", "SECURITY.md", "mkdocs.yml", "seqkit/cli.py"} <= names
