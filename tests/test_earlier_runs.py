"""Runs that were left by seqkit 0.1.0 load, generate, score and go on as they did then.

`runs_0_1_0` holds, for each kind of codec and cell, a training that was stopped by SIGTERM after
step 7 of 12 (`last`, `previous`, `best`), the data, and `finished.safetensors`: what 0.1.0 itself
ended with when it went on. `expected.json` has the command of each run, what 0.1.0 generated from
`best`, and the losses it found.
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import soundfile
import torch

from tests.conftest import EARLIER_RUNS, Run

pytestmark = pytest.mark.faults

EXPECTED: dict[str, Any] = json.loads((EARLIER_RUNS / "expected.json").read_text())
KINDS = sorted(EXPECTED["runs"])
SOUND = ("linear", "mu_law")


def command_of(kind: str) -> list[str]:
    """The command line of a run, as it was typed."""
    return [str(word) for word in EXPECTED["runs"][kind]["command"]]


def command(kind: str) -> list[str]:
    """The command line of a run, its data here."""
    words = command_of(kind)
    words = [word.replace("data.quantiser=", "data.codec=") for word in words]  # renamed since
    return [word.replace("/data/seqkit", str(EARLIER_RUNS / "data")) for word in words]


def same_machine() -> bool:
    """Whether sums are rounded here as they were where the runs were made.

    MKL adds in another order on processors of other makers.
    """
    info = Path("/proc/cpuinfo")
    vendor = re.search(r"^vendor_id\s*: (\w+)$", info.read_text(), re.M) if info.exists() else None
    here = {"torch": torch.__version__, "cpu": torch.backends.cpu.get_cpu_capability()}
    return bool({**here, "vendor": vendor and vendor[1]} == EXPECTED["versions"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", ["torch", "onnx"])
def test_they_generate_what_they_did(kind: str, engine: str, run: Run, tmp_path: Path) -> None:
    expected = EXPECTED["runs"][kind]["generated"][engine]
    words = ["generate", f"checkpoint={EARLIER_RUNS / kind}", "length=60", "seed=3", "device=cpu"]
    words.append(f"sample.engine={engine}")
    if kind in SOUND:
        run.ok(*words, f"out={tmp_path / 'made.wav'}")
        assert soundfile.read(tmp_path / "made.wav", dtype="int16")[0].tolist() == expected
    else:
        made = run.ok(*words, "prompt=a ", "sample.unknown=skip")
        assert made.out.decode("latin-1") == expected


@pytest.mark.parametrize("kind", KINDS)
def test_they_score_as_they_did(kind: str, run: Run) -> None:
    expected = EXPECTED["runs"][kind]
    data = next(word for word in command(kind) if word.startswith("data.path="))
    unknown = [] if kind in SOUND else ["data.unknown=nearest"]
    words = [
        "evaluate",
        f"checkpoint={EARLIER_RUNS / kind}",
        data,
        "json=true",
        "device=cpu",
        *unknown,
    ]
    scored = run.ok(*words)
    result = json.loads(scored.out)
    assert result["symbols"] == expected["symbols"]
    assert result["loss"] == pytest.approx(expected["loss"], rel=1e-6)


def test_they_go_on_with_the_files_that_they_read(run: Run, tmp_path: Path) -> None:
    kind = next(kind for kind in KINDS if "data.path=/data/seqkit/letters" in command_of(kind))
    shutil.copytree(EARLIER_RUNS / kind, tmp_path / "run")
    shutil.copytree(EARLIER_RUNS / "data" / "letters", tmp_path / "letters")
    (tmp_path / "letters" / "notes.md").write_text("Not read by 0.1.0, which took .txt alone.")
    words = [word for word in command(kind) if not word.startswith("data.path=")]
    words += [f"data.path={tmp_path / 'letters'}", f"run_dir={tmp_path / 'run'}", "resume=auto"]
    run.ok(*words)


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("kind", KINDS)
def test_they_go_on_as_they_did(kind: str, run: Run, tmp_path: Path) -> None:
    shutil.copytree(EARLIER_RUNS / kind, tmp_path / "run")
    run.ok(*command(kind), f"run_dir={tmp_path / 'run'}", "resume=auto")
    made = safetensors.torch.load_file(tmp_path / "run" / "checkpoints" / "last.safetensors")
    expected = safetensors.torch.load_file(EARLIER_RUNS / kind / "finished.safetensors")
    assert {name for name in made if not name.startswith("recording.")} == expected.keys()
    for name, values in expected.items():
        torch.testing.assert_close(made[name], values, atol=1e-5, rtol=1e-5)
        assert torch.equal(made[name], values) or not same_machine(), name
    metrics = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert np.diff([json.loads(line)["step"] for line in metrics]).min() >= 0
