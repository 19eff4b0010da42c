"""torchaudio that does not load is said in one line by what needs it, and by nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.conftest import TINY, Run, Write, environment

CPU = "--no-deps 'torchaudio>=2.11,<2.12' --index-url https://download.pytorch.org/whl/cpu"
BOTH = "'torch>=2.11,<2.15' 'torchaudio>=2.11,<2.12'"
FAILURES = [
    ('ModuleNotFoundError("No module named torchaudio")', "13.0", BOTH),
    ('RuntimeError("It was built for another CUDA. Install another one.")', "13.2", BOTH),
    ('OSError("Could not load this library: a.so")', None, CPU),
]


@pytest.mark.parametrize(("failure", "cuda", "command"), FAILURES)
def test_sound_tells_what_mends_it(
    failure: str,
    cuda: str | None,
    command: str,
    run: Run,
    write: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write("torchaudio/__init__.py", f"raise {failure}")
    monkeypatch.delitem(sys.modules, "torchaudio", raising=False)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    out = tmp_path / "a.wav"
    result = run("generate", "checkpoint=etude", "seconds=0.1", f"out={out}", "device=cpu")
    assert result.code == 2
    [line] = result.err.splitlines()
    assert line.startswith("seqkit: error: sound needs torchaudio, which does not load beside")
    assert line.endswith(f"): pip install --force-reinstall {command}")
    assert "another one" not in line
    assert not out.exists()


def test_text_does_not_import_it(tmp_path: Path) -> None:
    words = [*TINY, "train.max_steps=2", f"run_dir={tmp_path / 'run'}"]
    code = (
        "import sys; sys.modules['torchaudio'] = None;"
        f"from seqkit.cli import main; sys.exit(main({words}))"
    )
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True)
