"""`doctor`, before a training and after it."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from seqkit.compose import compose
from seqkit.config import DataConfig
from tests.conftest import SMALL, TINY, Run

WORDS = [*("the", "rain", "in", "spain", "stays", "mainly", "on", "a", "plain"), "or\n"]
PROSE = " ".join(np.random.default_rng(0).choice(WORDS, 5000))[:20_000]
NOISE = np.random.default_rng(0).laplace(0, 0.03, 12 * 8000).clip(-0.5, 0.5)  # mu-law likes it


def examined(run: Run, *words: str | Path) -> dict[str, Any]:
    return dict(run.json("doctor", *words, "device=cpu", "train.max_minutes=0.05"))


def composed(found: dict[str, Any]) -> DataConfig:
    """How the command line that is recommended reads the data."""
    return compose(shlex.split(found["recommendation"]["command"])[3:], []).data


def test_a_text_is_examined_and_the_command_line_trains(run: Run, tmp_path: Path) -> None:
    text = tmp_path / "it's.txt"
    text.write_text(PROSE)
    found = examined(run, f"data.path={text}")
    assert found["kind"] == "text"
    assert found["split"] == {"training": 18_000, "validation": 2000, "test": 0}
    assert found["text"]["vocabulary"]["size"] == len(set(PROSE))
    assert found["text"]["vocabulary"]["counts"]["e"] == PROSE.count("e")
    assert found["baselines"]["xz_bits"] < found["baselines"]["histogram_bits"]
    recommended = found["recommendation"]
    words = shlex.split(recommended["command"])[3:]
    small = [word for word in SMALL if word.partition("=")[0] in ("length", "device")]
    run.ok(*words, *small, f"run_dir={tmp_path / 'run'}", "train.max_steps=2")
    made = (tmp_path / "run" / "config.yaml").read_text()
    network = compose(words, []).model  # of the checkpoint that it starts from
    assert "init_from=shakespeare" in words and f"hidden_size: {network.hidden_size}" in made


@pytest.mark.parametrize(
    ("recipe", "keys"),
    [
        ("shakespeare", ("data.kind=bytes", "data.split=0.87654321,0.12345679,0")),
        ("my_sound", ("data.trim_silence=30", "data.channels=2")),
    ],
)
def test_the_command_line_reads_the_data_as_the_doctor_did(
    recipe: str, keys: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "data"
    if recipe == "shakespeare":
        file.write_text(PROSE)
    else:
        soundfile.write(file, NOISE, 8000, format="WAV")
    words = [f"recipe={recipe}", f"data.path={file}", *keys]
    found = examined(run, *words)
    assert composed(found) == compose(words, []).data
    command = shlex.split(found["recommendation"]["command"])
    assert sum(word.startswith("data.") for word in command) == 1 + len(keys)


def test_what_people_read_has_no_character_that_a_terminal_obeys(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("a\x1b[31m\nred.txt", "b\u202e.txt"):
        (tmp_path / "data" / name).write_text(PROSE + "\x1b[31m\u202e")
    done = run.ok("doctor", f"data.path={tmp_path / 'data'}", "train.max_minutes=0.05")
    shown = done.out.decode()
    assert "U+202E RIGHT-TO-LEFT OVERRIDE" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)


def test_baselines_are_those_of_the_report_and_of_evaluate(run: Run, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(PROSE[::-1] + PROSE)
    found = examined(run, f"data.path={text}")["baselines"]
    words = [*TINY, f"data.path={text}", f"run_dir={tmp_path / 'run'}", "train.max_steps=2"]
    run.ok(*words)
    about = json.loads((tmp_path / "run" / "about.json").read_text())["baselines"]
    evaluated = run.json("evaluate", f"checkpoint={tmp_path / 'run'}")
    for key, bits in about.items():
        assert found[key] == evaluated[key] == bits
    assert found == about


def test_a_run_is_judged_as_on_its_page(trained: Path, run: Run) -> None:
    found = run.json("doctor", f"run_dir={trained}")
    assert (found["state"], found["step"]) == ("finished", 150)
    page = (trained / "report.html").read_text()
    assert found["finding"].partition(".")[0] in page
    shown = run("doctor", f"run_dir={trained}").out.decode()
    assert shown.startswith(found["finding"])
    assert found["advice"] in shown


def test_misuse_is_refused_in_a_line(text_file: Path, run: Run, tmp_path: Path) -> None:
    for code, said, words in [
        (2, "no data: give data.path", ("data.kind=text",)),
        (2, "or run_dir to look at a run", (f"run_dir={tmp_path}", f"data.path={text_file}")),
        (4, "no run in this folder", (f"run_dir={tmp_path}",)),
        (3, "no such file", (f"data.path={tmp_path / 'none'}",)),
    ]:
        assert said in run.fails_in_a_line(code, "doctor", *words)


@pytest.mark.thorough
def test_a_training_tells_the_faults_of_sound(run: Run, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", 0.02 * NOISE[:8000] + 0.1, 8000)
    words = ["recipe=wav_generation", f"data.path={tmp_path / 'a.wav'}", *SMALL]
    done = run.ok(*words, f"run_dir={tmp_path / 'run'}", "train.max_steps=1")
    assert "the sound is short, 1.0 s" in done.err
    assert "the sound is quiet" in done.err
    assert "DC" not in done.err  # the two worst are enough
    again = run(f"run_dir={tmp_path / 'run'}", "resume=auto", "train.max_steps=2")
    assert "the sound is short" not in again.err
