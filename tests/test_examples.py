"""The scripts and notebooks of examples/ run as they stand, with tiny settings."""

import html
import json
import re
import runpy
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import soundfile
from matplotlib import pyplot as plt
from safetensors.torch import load_file

import seqkit
from tests.conftest import SENTENCE, SMALL
from tests.warm_python import module_path, python

EXAMPLES = Path(__file__).parent.parent / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
RATE, HOP = 4000, 128  # of the longest windows that its codec may have
OF_SOUND = (
    *("model.hidden_size=16", "data.sample_rate=4000"),
    *("train.batch_size=4", "train.sequence_length=16", "train.max_steps=2", "seconds=0.1"),
    *("device=cpu", "train.precision=fp32", "optimizer.warmup_steps=1"),
)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder that holds a text and a recording; programs that are started are warm."""
    (tmp_path / "text.txt").write_text(SENTENCE * 40)
    seconds = np.arange(2 * RATE) / RATE
    tone = 0.5 * np.sin(2 * np.pi * 220 * seconds) * np.exp(-2 * (seconds % 0.5))
    soundfile.write(tmp_path / "take.wav", tone, RATE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", module_path())
    monkeypatch.setattr(sys, "executable", python())


def script(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str, *words: str
) -> str:
    """What a script prints."""
    monkeypatch.setattr(sys, "argv", [name, *words])
    capfd.readouterr()
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capfd.readouterr().out


def test_train_on_text(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["text.txt", "--prompt", "the ", *SMALL, "train.max_steps=2"]
    printed = script(monkeypatch, capfd, "train_on_text.py", *words)
    first, _, rest = printed.partition("the run is in ")
    assert "step 2: " in first
    folder, _, written = rest.partition("\n")
    assert (Path(folder) / "report.html").exists()
    assert written.startswith("the ")
    assert len(written) == len("the ") + 500 + len("\n")


def test_sound_from_a_recording(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["take.wav", *OF_SOUND, "--seconds", "0.2"]
    printed = script(monkeypatch, capfd, "sound_from_recording.py", *words)
    assert "listen to continued.wav" in printed
    assert soundfile.info("start.wav").frames == RATE // 2
    more = soundfile.info("continued.wav").frames - RATE // 2 - RATE // 5
    assert 0 <= more < HOP  # the start's last frame is whole


def test_new_names(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    names = ["ann", "ben", "anna", "bea"]
    Path("names.txt").write_text("\n".join(names * 30))
    keys = [*SMALL, "data.document=line", "train.max_steps=60", "run_dir=run", "optimizer.lr=0.02"]
    seqkit.train("names", *keys, data="names.txt")
    printed = script(monkeypatch, capfd, "new_names.py", "run", "names.txt", "--count", "3")
    new = printed.splitlines()
    assert len(new) == len(set(new)) == 3
    assert not set(new) & set(names)


def test_surprise(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    page = script(monkeypatch, capfd, "surprise.py", str(trained), "text.txt")
    spans = re.findall('<span class="s[0-9]" title="([0-9.]+)">(.)</span>', page, re.DOTALL)
    assert html.unescape("".join(character for _, character in spans)) == SENTENCE * 40
    assert 0 < np.mean([float(bits) for bits, _ in spans]) < 5


def test_recited(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    text = "".join(chr(0x4E00 + n) for n in np.random.default_rng(0).integers(0, 9999, 500))
    Path("text.txt").write_text(text)
    Path("sample.txt").write_text(
        "x" * 40 + text[100:160] + text[400:480] + "y" * 60 + text[300:340]
    )
    printed = script(monkeypatch, capfd, "recited.py", "sample.txt", "text.txt")
    assert printed == "50% stands in the text word for word, 80 characters at most in a row\n"


def test_compress(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = np.random.default_rng(2).choice([*SENTENCE.split(" ")[:-1], "spain\n"], 2501)
    text = " ".join(words)
    Path("text.txt").write_text(text)
    printed = script(monkeypatch, capfd, "compress.py", str(trained), "text.txt", "packed")
    model = seqkit.load(trained, device="cpu")
    bits = float(model.nats(text).sum(dtype=float)) / np.log(2)
    size = 8 * Path("packed").stat().st_size
    assert abs(size - bits) < 0.002 * bits  # eight lanes begin from the zero state
    assert printed.startswith(f"{size / len(text):.4f} bits per character, ")
    assert printed.split()[-1] == f"{bits / len(text):.4f}"
    script(monkeypatch, capfd, "compress.py", str(trained), "packed", "back.txt", "--unpack")
    assert Path("back.txt").read_text() == text
    with pytest.raises(SystemExit, match="it was packed with another model"):
        script(monkeypatch, capfd, "compress.py", "shakespeare", "packed", "no.txt", "--unpack")


@pytest.mark.thorough
def test_teachers(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    runs = [f"run{seed}" for seed in (1, 2)]
    for seed, folder in enumerate(runs):
        settings = [*SMALL, "train.max_steps=60", f"seed={seed}", f"run_dir={folder}"]
        seqkit.train("shakespeare", *settings, data="text.txt")
    Path("judge.txt").write_text(SENTENCE * 9)
    small = "--symbols 20000 --steps 400 --batch-size 8 --sequence-length 16"
    learning = "--judge judge.txt --average 0.9 --lr 0.02 --device cpu"
    words = [*runs, *small.split(), *learning.split()]
    lines = script(monkeypatch, capfd, "teachers.py", *words).splitlines()
    one, together, student = (float(lines[place].split(": ")[1].split()[0]) for place in (0, 1, -1))
    models = [seqkit.load(run, "cpu") for run in runs]
    nats = [model.nats(SENTENCE * 9) for model in models]
    assert one == pytest.approx(nats[0].mean(), abs=1e-3)
    mean = -np.log((np.exp(-nats[0]) + np.exp(-nats[1])) / 2).mean()
    assert together == pytest.approx(mean, abs=1e-3)
    assert student < together + 0.3  # by what they wrote alone
    models[0].char_rnn.load_state_dict(load_file("student.safetensors"))
    assert student == pytest.approx(models[0].nats(SENTENCE * 9).mean(), abs=1e-3)


def test_training_loop(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["text.txt", "--steps", "101", "--hidden-size", "24"]
    lines = script(monkeypatch, capfd, "training_loop.py", *words).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["step 0", "step 100", "on the last tenth"]
    losses = [float(line.split()[2]) for line in lines[:2]]
    assert losses[1] < losses[0] / 2
    assert float(lines[2].split()[-1]) < losses[0] / 2


def test_forecast(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["--steps", "12", "--hidden-size", "8"]
    lines = script(monkeypatch, capfd, "forecast.py", *words).splitlines()
    theirs, ours = (float(line.split()[-1]) for line in lines)
    assert theirs < 0.123
    assert abs(ours - theirs) < 0.01  # on a CPU the same


@pytest.mark.thorough
def test_search(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["text.txt", "--trials", "2", *SMALL, "train.max_steps=2"]
    for trials in (2, 4):  # the second search adds to the first
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of SQLite connections that Optuna leaves open
            said = script(monkeypatch, capfd, "search.py", *words)
        assert "nats per character with {'optimizer.lr': " in said
        assert len([*Path("runs/shakespeare").iterdir()]) == trials


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a notebook plays; of IPython, which only a notebook needs, this stands in alone."""
    played: list[Any] = []
    display: Any = ModuleType("IPython.display")
    display.Audio = lambda wave, rate: (np.asarray(wave), rate)
    display.display = played.append
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return played


def cells(notebook: Path) -> list[dict[str, Any]]:
    """The cells of a notebook that hold code."""
    whole = json.loads(notebook.read_text())
    assert (whole["nbformat"], whole["nbformat_minor"]) == (4, 5)
    return [cell for cell in whole["cells"] if cell["cell_type"] == "code"]


def execute(notebook: str) -> dict[str, Any]:
    """Run the cells in order; the names that they leave."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells(EXAMPLES / notebook)):
        exec(compile("".join(cell["source"]), f"{notebook} [{number}]", "exec"), names)
        plt.close("all")
    return names


def test_first_steps_with_text(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = ["data.path=text.txt", *SMALL, "train.max_steps=2"]
    monkeypatch.setenv("SEQKIT_SETTINGS", " ".join(settings))
    names = execute("first_steps_with_text.ipynb")
    assert len(names["surprise"]) == len(names["text"])
    printed = capfd.readouterr().out
    assert " bits per character\n" in printed
    assert "--- temperature 1.0\nthe " in printed


def test_listening_to_a_model(monkeypatch: pytest.MonkeyPatch, heard: list[Any]) -> None:
    monkeypatch.setenv("SEQKIT_SETTINGS", " ".join(["data.path=take.wav", *OF_SOUND]))
    monkeypatch.setenv("SEQKIT_SECONDS", "0.6")
    names = execute("listening_to_a_model.ipynb")
    samples = len(list((names["run"].path / "samples").glob("*.wav")))
    lengths = [len(wave) for wave, rate in heard if rate == RATE]
    assert samples
    assert len(heard) == samples + 3
    assert 0 <= lengths[samples] - 2400 < HOP
    assert all(0 <= length - 2000 - 2400 < HOP for length in lengths[samples + 1 :])
    assert soundfile.info("seed_2.wav").frames == lengths[-1]


def test_every_example_is_listed_and_short() -> None:
    page = (EXAMPLES / "README.md").read_text()
    files = [*EXAMPLES.glob("*.py"), *NOTEBOOKS]
    for file in files:
        assert f"({file.name})" in page
        code = file.read_text().splitlines()
        if file.suffix == ".ipynb":
            code = [line for cell in cells(file) for line in cell["source"]]
        assert len(code) <= {"compress": 90, "teachers": 150}.get(file.stem, 60), file.name


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.name)
def test_a_notebook_is_stored_without_outputs(notebook: Path) -> None:
    for cell in cells(notebook):
        assert (cell["outputs"], cell["execution_count"]) == ([], None)
