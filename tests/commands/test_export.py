"""`export` writes a model that any ONNX Runtime runs, with what its symbols stand for."""

import subprocess
import sys
from pathlib import Path

from tests.conftest import Run


def test_the_example_of_the_docs_writes_what_seqkit_writes(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    assert run("export", f"checkpoint={trained}", f"out={tmp_path / 'model.onnx'}").code == 0
    page = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text()
    program = page.partition("```python")[2].partition("```")[0]
    shown = subprocess.run(
        [sys.executable, "-c", program.replace('"ROMEO:"', '"the "')],
        cwd=tmp_path, capture_output=True, check=True,
    ).stdout  # fmt: skip
    asked = ("prompt=the ", "temperature=0", "length=100", "sample.engine=torch")
    expected = run("generate", f"checkpoint={trained}", *asked).out.decode()
    assert "the " + shown.decode() == expected + "\n"
