"""`export` writes a model that any ONNX Runtime runs, with what its symbols stand for."""

import subprocess
import sys
from pathlib import Path

import pytest

from seqkit.foundation.catalogue import Catalogue
from seqkit.runs import checkpoint
from tests.conftest import Run, saved


def test_the_example_of_the_docs_writes_what_seqkit_writes(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    run.ok("export", f"checkpoint={trained}", f"out={tmp_path / 'model.onnx'}")
    page = (Path(__file__).parents[2] / "docs" / "reference" / "recipes.md").read_text()
    program = page.partition("```python")[2].partition("```")[0]
    shown = subprocess.run(
        [sys.executable, "-c", program.replace('"ROMEO:"', '"the "')],
        cwd=tmp_path, capture_output=True, check=True,
    ).stdout  # fmt: skip
    asked = ("prompt=the ", "temperature=0", "length=100", "sample.engine=torch")
    expected = run("generate", f"checkpoint={trained}", *asked).out.decode()
    assert "the " + shown.decode() == expected + "\n"


def test_a_checkpoint_in_eight_bits_predicts_nearly_as_well(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    words = ["export", f"checkpoint={trained}/checkpoints/last.safetensors"]
    out = tmp_path / "small.safetensors"
    run.ok(*words, f"out={out}")
    assert out.stat().st_size < (trained / "checkpoints" / "best.safetensors").stat().st_size / 2
    small = checkpoint.load(out, Catalogue())
    assert (small.training, small.training_tensors) == (None, {})
    assert small.codec.to_spec() == saved(trained).codec.to_spec()
    whole, rounded = (
        run.json("evaluate", f"checkpoint={place}", "device=cpu")["loss"]
        for place in (f"{trained}/checkpoints/last.safetensors", out)
    )
    assert whole != rounded == pytest.approx(whole, abs=0.01)
    run.fails_in_a_line(6, *words, f"out={out}")
    run.ok(*words, f"out={out}", "overwrite=true")


def test_export_says_what_out_may_be(run: Run, trained: Path) -> None:
    refused = run.fails(2, "export", f"checkpoint={trained}")
    assert "no out: give out=FILE.html for a page that runs the model, out=FILE.onnx" in refused


def test_a_file_of_another_ending_is_refused(run: Run, trained: Path, tmp_path: Path) -> None:
    refused = run.fails_in_a_line(
        2, "export", f"checkpoint={trained}", f"out={tmp_path / 'verse.zip'}"
    )
    assert "give out=FILE.html" in refused
    assert not (tmp_path / "verse.zip").exists()
