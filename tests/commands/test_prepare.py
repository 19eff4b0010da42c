"""`prepare` from the command line: what it says, writes and refuses."""

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data.shards.index import read_index
from tests.conftest import SMALL, Run, environment, fill_disk
from tests.warm_python import python


def test_it_says_what_it_wrote(run: Run, text_file: Path, tmp_path: Path) -> None:
    made = run("prepare", f"data.path={text_file}", f"out={tmp_path}/shards")
    assert (made.code, made.out) == (0, b"")
    assert made.err == (
        f"written: {tmp_path}/shards: 1,800 symbols of 1 document in 1 shard; train with "
        f"recipe=shakespeare data.path={tmp_path}/shards\n"
    )


def test_a_recipe_says_how_sound_is_read(run: Run, tmp_path: Path) -> None:
    run.ok("prepare", "recipe=wav_generation", f"out={tmp_path}/shards")
    index, _ = read_index(tmp_path / "shards")
    assert (index.codec["name"], index.settings["kind"]) == ("mu_law", "audio")


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            [],
            "recipe=my_sound data.path={} data.sample_rate=16000 data.gain=none "
            "data.emphasis=none data.bands=1\n",
        ),
        (["recipe=my_sound"], "recipe=my_sound data.path={}\n"),
        (
            ["recipe=my_sound", "data.gain=rms", "data.levels=128"],
            "recipe=my_sound data.path={} data.gain=rms\n",
        ),
        (["data.kind=bytes"], "recipe=shakespeare data.path={} data.kind=bytes\n"),
    ],
)
def test_the_keys_that_it_names_train(
    words: list[str], told: str, run: Run, tmp_path: Path
) -> None:
    wave = np.random.default_rng(0).uniform(-0.3, 0.3, 16000)
    soundfile.write(tmp_path / "a.wav", wave, 16000)
    shards = tmp_path / "shards"
    made = run.ok("prepare", *words, f"data.path={tmp_path}/a.wav", f"out={shards}")
    _, _, line = made.err.partition("; train with ")
    assert line.startswith(told.format(shards))
    keys = line.split()
    length = "length=3" if "data.kind=bytes" in words else "seconds=0.01"
    small = [*SMALL[:-3], "device=cpu", "train.max_steps=1", "train.average=0", length]
    run.ok(*keys, *small, f"run_dir={tmp_path}/run")


def test_what_is_refused(
    run: Run, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = f"data.path={text_file}", f"out={tmp_path}/shards"
    latin = tmp_path / "latin.txt"
    latin.write_bytes("né".encode("latin-1"))
    for code, said, arguments in (
        (2, "no folder for the shards: give out=FOLDER", [data]),
        (2, "no data: give data.path", [out]),
        (2, "data.copies", [data, out, "data.copy=1"]),
        (3, "missing.txt: cannot be read", [f"data.path={tmp_path}/missing.txt", out]),
        (3, "latin.txt: byte 1 (0xe9) is not utf-8", [f"data.path={latin}", out]),
        (6, f"out={text_file} is a file", [data, f"out={text_file}"]),
        (6, "which is no shard", [data, f"out={tmp_path}"]),
    ):
        assert said in run.fails_in_a_line(code, "prepare", *arguments)
    assert not (tmp_path / "shards").exists()
    fill_disk(monkeypatch, files=".*.bin.*")
    full = run.fails_in_a_line(6, "prepare", data, out)
    assert f"cannot write {tmp_path}/shards/000000.bin: no space left" in full


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it(tmp_path: Path, sent: signal.Signals) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [python(), "-m", "seqkit", "prepare", f"data.path={pipe}", f"out={tmp_path}/shards"],
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    with pipe.open("wb") as stream:  # waits until it is read
        stream.write(b"some of it")
        stream.flush()
        time.sleep(0.2)
        process.send_signal(sent)
        told = process.communicate()[1]
    assert process.returncode == (75 if sent == signal.SIGTERM else 130)
    assert "Traceback" not in told
    assert not (tmp_path / "shards").exists()
