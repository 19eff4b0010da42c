"""`doctor`, before a training and after it: what it finds, and that its command line does it."""

import json
import shlex
import shutil
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


def advised(run: Run, *words: str | Path) -> tuple[dict[str, Any], DataConfig]:
    """What was found, and how the command line that is recommended reads the data."""
    found = examined(run, *words)
    return found, compose(shlex.split(found["recommendation"]["command"])[3:], []).data


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
    found, data = advised(run, *words)
    assert data == compose(words, []).data
    command = shlex.split(found["recommendation"]["command"])
    assert sum(word.startswith("data.") for word in command) == 1 + len(keys)


def test_what_people_read_has_no_character_that_a_terminal_obeys(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("a\x1b[31m\nred.txt", "b\u202e.txt"):
        (tmp_path / "data" / name).write_text(PROSE + "\x1b[31m\u202e" * 3000)
    done = run.ok("doctor", f"data.path={tmp_path / 'data'}", "train.max_minutes=0.05")
    shown = done.out.decode()
    assert "U+202E" in shown
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


@pytest.mark.thorough
def test_a_training_tells_the_faults_of_sound(run: Run, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", 0.02 * NOISE[:8000], 8000)
    words = ["recipe=wav_generation", f"data.path={tmp_path / 'a.wav'}", *SMALL]
    done = run.ok(*words, f"run_dir={tmp_path / 'run'}", "train.max_steps=1")
    assert "the sound is short, 1.0 s" in done.err
    assert "the sound is quiet" in done.err
    again = run(f"run_dir={tmp_path / 'run'}", "resume=auto", "train.max_steps=2")
    assert "the sound is short" not in again.err


def test_line_ends_of_windows_are_advised_against(run: Run, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_bytes(PROSE.replace("\n", "\r\n").encode())
    found, _ = advised(run, f"data.path={text}")
    assert any("`perl -pe 's/\\r+$//" in fault for fault in found["faults"])


@pytest.mark.parametrize("times", [0.02, 4])
def test_a_gain_that_sound_needs_is_in_the_command_line(
    times: float, run: Run, tmp_path: Path
) -> None:
    for name, wave in {"a": NOISE * times, "short": NOISE[:9], "still": 0 * NOISE + 0.1}.items():
        soundfile.write(tmp_path / f"{name}.wav", wave, 8000, "FLOAT")
    found, data = advised(run, "recipe=wav_generation", f"data.path={tmp_path}")
    assert any("data.gain=peak" in fault for fault in found["faults"])
    assert (data.gain, found["files"]) == ("peak", {"count": 1, "left_out": 2, "unreadable": 0})


def test_what_is_given_stays_though_it_is_the_default(run: Run, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.tile(NOISE, 4), 8000)
    given = ("data.trim_silence=0", "data.split=0.9,0.1,0", "data.codec=spectral")
    _, data = advised(run, f"data.path={tmp_path / 'a.wav'}", *given)
    assert (data.trim_silence, data.split) == (0, [0.9, 0.1, 0])


def test_a_damaged_checkpoint_of_a_run_is_told(run: Run, trained: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(trained, tmp_path / "run") / "checkpoints" / "best.safetensors"
    content = bytearray(damaged.read_bytes())
    content[-9] ^= 1
    damaged.write_bytes(content)
    said = run.ok("doctor", f"run_dir={tmp_path / 'run'}").out.decode()
    assert f"{damaged}: the checkpoint is damaged" in said


@pytest.mark.parametrize(
    ("end", "words", "is_list"),
    [("\n", [], True), (" a while,\n", ["data.document=line"], True), (",\n", [], False)],
)
def test_a_list_is_for_the_recipe_of_names(
    end: str, words: list[str], is_list: bool, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "names.txt"
    file.write_text(end.join(PROSE.split()))
    told = run.ok("doctor", f"data.path={file}", *words, "device=cpu").out.decode()
    assert ("the text is short" not in told) == is_list
    assert ("recipe=names" in told.partition("Train with")[2]) == is_list
