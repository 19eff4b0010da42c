"""The wheel holds all that the program needs, wherever it is installed."""

import subprocess
import sys
from pathlib import Path

from tests.conftest import SENTENCE, TINY, environment

ROOT = Path(__file__).parent.parent


def test_the_wheel_runs_from_an_empty_folder(tmp_path: Path) -> None:
    wheels, site, empty = tmp_path / "wheels", tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    text = tmp_path / "text.txt"
    text.write_text(SENTENCE * 30)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = wheels.glob("*.whl")
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target"]
    subprocess.run([*install, str(site), str(wheel)], check=True, capture_output=True)

    arguments = [*TINY, f"data.path={text}", "run_dir=run", "train.max_steps=2"]
    done = subprocess.run(
        [sys.executable, "-m", "seqkit", *arguments],
        cwd=empty,
        env={**environment(), "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert (empty / "run" / "summary.json").exists()
    assert (site / "seqkit" / "recipes" / "shakespeare.yaml").exists()
    assert (site / "seqkit" / "data" / "datasets" / "verse.txt").stat().st_size > 60_000
