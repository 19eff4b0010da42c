"""The files around the code agree with it: citation and sdist."""

import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import yaml

import seqkit

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_citation_names_this_version_and_licence() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == seqkit.__version__
    assert citation["license"] == PROJECT["license"]
    (author,) = citation["authors"]
    assert f"{author['name']}\n" in (ROOT / "LICENSE").read_text()


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
