"""What a training does not import: it would make every start longer."""

import sys

import pytest

from tests.conftest import completed

_TRAIN = """
import sys
from seqkit.cli import main
for words in LINES:
    assert main(words) == 0, words
    print("\\nloaded", *sorted({"torch._dynamo", "torch._inductor"} & set(sys.modules)))
"""


@pytest.mark.thorough
def test_a_training_imports_no_compiler(
    tiny: list[str],
) -> None:
    lines = [
        [*tiny, *more] for more in (["train.max_steps=2"], ["train.max_steps=4", "resume=auto"])
    ]
    done = completed([sys.executable, "-c", f"LINES = {lines!r}\n{_TRAIN}"])
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith("loaded")]
    assert told == ["loaded"] * 2
