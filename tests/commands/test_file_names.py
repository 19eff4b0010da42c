"""Names of files that are no UTF-8: they work everywhere, and come back byte for byte."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
import yaml

from seqkit.commands import COMMANDS
from tests.conftest import SENTENCE, SMALL, TINY, Run

pytestmark = pytest.mark.faults

ODD = os.fsdecode(b"caf\xe9")


def test_a_text_and_a_run(run: Run, tmp_path: Path) -> None:
    folder, place = tmp_path / ODD, tmp_path / f"run_{ODD}"
    folder.mkdir()
    (folder / f"{ODD}.txt").write_text(SENTENCE * 40)
    words = [*TINY, f"data.path={folder}", f"run_dir={place}", "resume=auto"]
    for steps in (2, 3):
        done = run.ok(*words, f"train.max_steps={steps}", f"data.pattern={ODD}*")
        assert r"of caf\xe9, " in done.err
        assert rf"generate $'checkpoint={tmp_path}/run_caf\351'" in done.err  # for the shell
    settings = yaml.safe_load((place / "config.yaml").read_bytes())
    assert settings["run_dir"] == str(place)
    assert settings["data"]["path"] == [str(folder)]
    assert b"run_caf\xe9" in (place / "log").read_bytes()
    scored = run.ok("evaluate", f"checkpoint={place}", "json=true", "device=cpu")
    examined = run("doctor", f"data.path={folder}", "json=true", "device=cpu")
    compared = run("compare", f"runs={place}", "json=true")
    texts = [scored.out, examined.out, compared.out]
    texts += [(place / name).read_bytes() for name in ("summary.json", "about.json")]
    assert all(rb"caf\udce9" in text for text in texts)  # ASCII
    shown = run.json("inspect", f"checkpoint={place}")
    assert shown["config"]["data"]["path"] == [str(folder)]
    run.ok("generate", f"checkpoint={place}", "device=cpu", f"out={folder / ODD}.out")
    assert len((folder / f"{ODD}.out").read_bytes()) == 500
    missing = run("generate", f"checkpoint={ODD}")
    assert missing.err.startswith("seqkit: error: caf\\xe9: no such checkpoint: give")


def test_sound(run: Run, tmp_path: Path) -> None:
    folder, place = tmp_path / ODD, tmp_path / f"run_{ODD}"
    folder.mkdir()
    wave = np.random.default_rng(0).uniform(-0.5, 0.5, 4000)
    soundfile.write(tmp_path / "a.wav", wave, 8000)
    shutil.move(tmp_path / "a.wav", folder / f"{ODD}.wav")
    keys = [key for key in SMALL if not key.startswith("length=")]
    words = ["recipe=wav_generation", *keys, "seconds=0.1", "train.max_steps=2"]
    done = run.ok(*words, f"data.path={folder}", f"run_dir={place}")
    assert Path(os.fsdecode(done.out.rstrip(b"\n"))) == place / "samples" / "final.wav"
    assert (place / "samples" / "final.png").exists()
    made = folder / f"{ODD}_made.wav"
    more = ["seconds=0.1", f"prompt_audio={folder / ODD}.wav", f"out={made}", "device=cpu"]
    run.ok("generate", f"checkpoint={place}", *more)
    assert made.exists()


READ_AS_OUT = {
    "a text": ("evaluate", "checkpoint={run}", "data.path={text}", "out={text}"),
    "a prompt": ("generate", "checkpoint={run}", "prompt_file={text}", "out={text}"),
    "a run's checkpoint": ("export", "checkpoint={run}", "out={best}"),
    "one of another run": ("generate", "checkpoint={other}", "out={last}"),
    "a folder of a link": ("generate", "checkpoint={best_link}", "out={last}"),
    "one of several": ("generate", "checkpoint={run}", "streams=2", "out={dir}/best.safetensors"),
}


@pytest.mark.parametrize("what", READ_AS_OUT)
def test_what_is_read_is_never_replaced(
    what: str, run: Run, trained: Path, text_file: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "run"
    shutil.copytree(trained, copy)
    folder = copy / "checkpoints"
    places = {"run": copy, "text": text_file, "dir": folder}
    places |= {"other": trained, "best_link": tmp_path / "lnk"}
    places["best_link"].symlink_to(folder / "best.safetensors")
    places |= {name: folder / f"{name}.safetensors" for name in ("best", "last")}
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    words = [word.format(**places) for word in READ_AS_OUT[what]]
    refused = run.fails(6, *words, "overwrite=true")
    assert any(words in refused for words in ("is what is read: give", "lies in the run"))
    assert before == {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}


WITH_OUT = {
    "generate": ("checkpoint={run}",),
    "evaluate": ("checkpoint={run}",),
    "score": ("checkpoint={run}",),
    "doctor": ("data.path={text}",),
    "export": ("checkpoint={run}",),
}


@pytest.mark.parametrize("command", WITH_OUT)
def test_no_command_writes_over_another_run(
    command: str, run: Run, trained: Path, text_file: Path, tmp_path: Path
) -> None:
    assert set(WITH_OUT) == {name for name, one in COMMANDS.items() if "out" in one.reads}
    other = tmp_path / "run"
    shutil.copytree(trained, other)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    words = [word.format(run=trained, text=text_file) for word in WITH_OUT[command]]
    for name in ("checkpoints/new", "checkpoints/last.safetensors", "config.yaml", ".lock"):
        refused = run.fails_in_a_line(6, command, *words, f"out={other / name}", "overwrite=true")
        assert "lies in the run" in refused
    assert before == {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
