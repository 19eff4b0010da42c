"""What a training does not import: it would make every start longer."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TINY, environment

_TRAIN = """
import sys
from seqkit.cli import main
code = main(sys.argv[1:])
print("\\nloaded", *sorted({"torch._dynamo", "torch._inductor"} & set(sys.modules)))
sys.exit(code)
"""


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_a_training_imports_no_compiler(kind: str, text_file: Path, tmp_path: Path) -> None:
    words = (f"data.path={text_file}", f"optimizer.kind={kind}", "train.max_steps=2")
    for more in ((), ("resume=auto", "train.max_steps=4")):
        done = subprocess.run(
            [sys.executable, "-c", _TRAIN, *TINY, *words, f"run_dir={tmp_path / 'run'}", *more],
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "loaded"
