"""What commands do not import: it would make every start longer."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.conftest import completed
from tests.play.conftest import serving

_LIGHT = [
    ["--help"],
    ["generate", "--help"],
    ["generate", "checkpoint=shakespeare", "length=70", "prompt=To be", "streams=2"],
    ["generate", "checkpoint=shakespeare", "length=9", "sample.engine=wasm"],
    ["generate", "checkpoint=RUN", "length=70", "sample.precision=int8"],
    ["generate", "checkpoint=etude", "seconds=0.3", "out=a.wav"],
    ["generate", "checkpoint=etude", "seconds=0.2", "prompt_audio=a.wav", "out=b.wav"],
    ["inspect", "checkpoint=RUN"],
    ["compare", "runs=RUN"],
    ["report", "run_dir=RUN"],
    ["export", "checkpoint=etude", "out=etude.html"],
]
_COMMAND = """
import sys
from seqkit.cli import main
assert main(sys.argv[1:]) == 0
assert not {"torch", "torchaudio"} & set(sys.modules)
"""
_LIBRARY = """
import sys, seqkit
model = seqkit.load("shakespeare", device="cpu")
first = model.generate("ROMEO:", length=90, seed=1)
assert "torch" not in sys.modules, str(model)
assert model.nats("ROMEO:").shape == (6,) and "torch" in sys.modules
assert model.generate("ROMEO:", length=90, seed=1) == first
assert model.char_rnn.head.weight.requires_grad
assert model.generate("ROMEO:", length=90, seed=1) == first
"""


@pytest.mark.parametrize("words", _LIGHT, ids=" ".join)
def test_on_a_cpu_a_checkpoint_is_used_without_pytorch(
    words: list[str], trained: Path, tmp_path: Path
) -> None:
    if "prompt_audio=a.wav" in words:
        first = [sys.executable, "-m", "seqkit", *_LIGHT[5]]
        assert completed(first, tmp_path).returncode == 0
    run = shutil.copytree(trained, tmp_path / "run")
    line = [word.replace("RUN", str(run)) for word in words]
    variables = {"CUDA_VISIBLE_DEVICES": ""}
    done = completed([sys.executable, "-c", _COMMAND, *line], tmp_path, variables)
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_so_does_the_library_until_it_reads() -> None:
    done = completed([sys.executable, "-c", _LIBRARY])
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="reads what a process has loaded from /proc")
def test_so_does_a_server() -> None:
    with serving("checkpoint=shakespeare", "device=cpu") as own:
        assert own.ask(length=40).status == 200
        assert "libtorch" not in Path(f"/proc/{own.process.pid}/maps").read_text()
