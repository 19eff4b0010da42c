"""`export` writes a checkpoint in 8 bits, and says what else it can write."""

from pathlib import Path

import pytest

from seqkit.foundation.catalogue import Catalogue
from seqkit.runs import checkpoint
from tests.conftest import Run, saved


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
