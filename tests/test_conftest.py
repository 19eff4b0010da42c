"""Which tests a command line runs."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import environment
from tests.warm_python import python

TESTS = """
import pytest

def test_quick():
    pass

@pytest.mark.thorough
def test_thorough():
    pass

@pytest.mark.thorough
@pytest.mark.faults
def test_fault():
    pass

@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("case", range(5))
def test_cases(case):
    pass
"""


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize(
    "words, expected",
    [
        ([], {"a": 3, "b": 3}),
        (["../tests/test_a.py::test_thorough"], {"a": 1}),
        ([".", "test_a.py"], {"a": 8, "b": 3}),
        (["-m", "faults", "test_a.py"], {"a": 1}),
        (["-p", "xdist", "-n", "1", "test_a.py"], {"a": 8}),
    ],
)
def test_a_file_that_is_named_is_run_whole(
    words: list[str], expected: dict[str, int], tmp_path: Path
) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "conftest.py").write_text(
        "from tests.selection import leave_out as pytest_collection_modifyitems"
    )
    for name in "ab":
        (folder / f"test_{name}.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = thorough\n  faults\n")
    without_plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # half a second each time
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [python(), "-m", "pytest", "-vv", *words], cwd=folder,
        env={**kept, "PYTHONPATH": environment()["PYTHONPATH"], **without_plugins},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    lines = {line.replace("[gw0]", "").replace("[gw1]", "") for line in done.stdout.splitlines()}
    passed = [line for line in lines if "PASSED" in line]
    assert {
        name: count
        for name in "ab"
        if (count := sum(f"test_{name}.py::" in line for line in passed))
    } == expected, done.stdout + done.stderr
