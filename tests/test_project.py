"""The files around the code agree with it: citation, gate, workflows, forms, image, sdist."""

import json
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import seqkit

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
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


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_few_rights_and_limits(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"].startswith(f"{path.stem}-")
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 90
        right = {"docs": "contents", "release": "id-token"}.get(path.stem)
        assert job.get("permissions") == ({right: "write"} if name == "publish" else None)
        for step in job["steps"]:
            assert "run" in step or re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])


def test_the_gate_runs_on_the_oldest_and_the_newest_python() -> None:
    gate = read(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["gate"]
    assert gate["steps"][-1] == {"run": "bash .ci/run"}
    oldest, newest = gate["strategy"]["matrix"]["python"]
    listed = [name.split()[-1] for name in PROJECT["classifiers"] if "Python :: 3." in name]
    assert [oldest, newest] == [listed[0], listed[-1]]
    major, minor = newest.split(".")
    assert PROJECT["requires-python"] == f">={oldest},<{major}.{int(minor) + 1}"


def test_a_release_is_checked_and_needs_no_password() -> None:
    jobs = read(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    commands = "\n".join(step.get("run", "") for step in jobs["build"]["steps"])
    assert commands.index("python -m build") < commands.index("twine check --strict dist/*")
    assert jobs["publish"]["needs"] == "build"
    assert "uv publish --trusted-publishing always" in jobs["publish"]["steps"][-1]["run"]
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_asks_each_thing_once(path: Path) -> None:
    form = read(path)
    assert {"name", "description", "body"} <= form.keys()
    asked = [item for item in form["body"] if item["type"] != "markdown"]
    assert {item["type"] for item in asked} <= {"textarea", "input"}
    assert all(item["attributes"]["label"] for item in asked)
    assert len({item["id"] for item in asked}) == len(asked)


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
