"""What a training does not import: it would make every start longer."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TINY, environment

_TRAIN = """
import sys
from seqkit.cli import main
for words in LINES:
    assert main(words) == 0, words
    print("\\nloaded", *sorted({"torch._dynamo", "torch._inductor"} & set(sys.modules)))
"""


@pytest.mark.thorough
def test_a_training_imports_no_compiler(text_file: Path, tmp_path: Path) -> None:
    words = [*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'a'}"]
    lines = [
        [*words, *more] for more in (["train.max_steps=2"], ["train.max_steps=4", "resume=auto"])
    ]
    done = subprocess.run(
        [sys.executable, "-c", f"LINES = {lines!r}\n{_TRAIN}"],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith("loaded")]
    assert told == ["loaded"] * 2
