"""The wheel holds all that the program needs, wherever it is installed, and takes a plug-in."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from safetensors import safe_open

from tests.conftest import SMALL, completed
from tests.test_docs import examples

ROOT = Path(__file__).parent.parent


def build(source: Path, wheels: Path) -> Path:
    """The wheel of a source tree."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return max(wheels.glob("*.whl"), key=lambda file: file.stat().st_mtime_ns)


def install(wheel: Path, site: Path) -> None:
    """Install a wheel alone; what it depends on is there."""
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target"]
    subprocess.run([*command, str(site), str(wheel)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which seqkit is installed from its wheel."""
    folder = tmp_path_factory.mktemp("seqkit")
    install(build(ROOT, folder / "wheels"), folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plug-in of docs/reference/plugins.md."""
    folder = tmp_path_factory.mktemp("plugin")
    for name, content in examples("reference/plugins.md").items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    return folder


def call(program: list[str], *words: str, cwd: Path, path: list[Path]) -> tuple[int, str, str]:
    """Run a program with nothing but `path` to find packages in beside the interpreter's own."""
    variables = {"PYTHONPATH": os.pathsep.join(map(str, path))}
    done = completed([sys.executable, *program, *words], cwd, variables)
    return done.returncode, done.stdout, done.stderr


def test_the_wheel_holds_recipes_and_the_sample(site: Path) -> None:
    assert (site / "seqkit" / "recipes" / "shakespeare.yaml").exists()
    assert (site / "seqkit" / "conf" / "config.yaml").exists()
    assert (site / "seqkit" / "data" / "verse.txt").stat().st_size > 60_000


def test_the_wheel_holds_models_that_write(site: Path, tmp_path: Path) -> None:
    words = ["generate", "checkpoint=shakespeare", "length=20", "device=cpu"]
    code, verse, told = call(["-m", "seqkit"], *words, cwd=tmp_path, path=[site])
    assert (code, len(verse) >= 20) == (0, True), told
    words = ["export", "checkpoint=shakespeare", "out=verse.html"]
    code, _, told = call(["-m", "seqkit"], *words, cwd=tmp_path, path=[site])
    assert (code, "<canvas" in (tmp_path / "verse.html").read_text()) == (0, True), told


@pytest.mark.thorough
def test_a_plug_in_trains_evaluates_and_generates_from_an_empty_folder(
    site: Path, plugin: Path, tmp_path: Path
) -> None:
    path, console, module = [site, plugin], [str(site / "bin" / "seqkit")], ["-m", "seqkit"]
    words = [
        "--config-dir",
        str(plugin / "recipes"),
        "recipe=songs",
        *SMALL,
        "train.max_steps=2",
        "run_dir=run",
    ]
    code, _, told = call(console, *words, cwd=tmp_path, path=path)
    assert code == 0, told
    assert (tmp_path / "run" / "summary.json").exists()
    assert "What it was made of" in (tmp_path / "run" / "report.html").read_text()

    words = ["evaluate", "checkpoint=run", "part=test", "json=true", "device=cpu"]
    words.append("plugins=songs")
    code, out, told = call(module, *words, cwd=tmp_path, path=path)
    assert code == 0, told
    verses = "".join(f"{n} green bottles hanging on the wall,\n" * 2 for n in (39, 40))
    assert len(verses) / 2 < json.loads(out)["symbols"] < len(verses)  # letters and pairs

    words = ["generate", "checkpoint=run", "prompt=green ", "length=20", "device=cpu"]
    words.append("plugins=songs")
    code, out, told = call(console, *words, cwd=tmp_path, path=path)
    assert (code, out[:6]) == (0, "green "), told


@pytest.mark.thorough
def test_a_plug_ins_codec_of_sound(site: Path, plugin: Path, tmp_path: Path) -> None:
    wave = np.random.default_rng(2).uniform(-0.5, 0.5, 4000)
    soundfile.write(tmp_path / "a.wav", wave, 4000)
    words = ["recipe=wav_generation", "data.path=a.wav", "data.codec=square_root", "run_dir=run"]
    words += ["data.sample_rate=0", "data.levels=16", "train.max_steps=2", *SMALL]
    words.append("plugins=songs")
    code, out, told = call(["-m", "seqkit"], *words, cwd=tmp_path, path=[site, plugin])
    assert code == 0, told
    assert soundfile.info(tmp_path / out.strip()).samplerate == 4000
    with safe_open(tmp_path / "run" / "checkpoints" / "best.safetensors", "np") as checkpoint:
        header = json.loads(checkpoint.metadata()["seqkit"])
    assert header["codec"] == {
        "name": "square_root", "levels": 16, "sample_rate": 4000, "gain": 1.0,
    }  # fmt: skip
