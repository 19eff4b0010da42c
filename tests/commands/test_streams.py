"""A training on a stream: the run finds it again when it is resumed and evaluated."""

import io
import json
import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.conftest import SENTENCE, SMALL, TINY, Run, completed, environment, summary_of
from tests.warm_python import python

SOUND = [key for key in SMALL if not key.startswith("length=")]


def piped(content: bytes, *words: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run `python -m seqkit` with a content on its stdin."""
    return subprocess.run(
        [python(), "-m", "seqkit", *words], cwd=cwd, env=environment(), input=content,
        capture_output=True, check=False, timeout=600,
    )  # fmt: skip


@pytest.mark.thorough
def test_a_stream_is_found_again(run: Run, tmp_path: Path) -> None:
    content = SENTENCE.encode() * 40
    words = [*TINY, "data.path=-", f"run_dir={tmp_path / 'run'}", "resume=auto"]
    done = piped(content, *words, "train.max_steps=2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"stdin: 1,800 bytes read, and kept as" in done.stderr
    assert b"symbols of stdin" in done.stderr
    resumed = piped(content, *words, "train.max_steps=3", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    by_its_folder = [f"run_dir={tmp_path / 'run'}", "resume=auto", "train.max_steps=4"]
    resumed = piped(b"", *by_its_folder, cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert summary_of(tmp_path / "run")["steps"] == 4
    other = piped(content * 2, *words, "train.max_steps=5", cwd=tmp_path)
    assert (other.returncode, b"is not as it was" in other.stderr) == (2, True), other.stderr
    own = run.json("evaluate", f"checkpoint={tmp_path / 'run'}", "device=cpu")["data_sha256"]
    whole = ["evaluate", "checkpoint=run", "data.path=/dev/stdin", "device=cpu", "json=true"]
    given_again = piped(content, *whole, cwd=tmp_path)
    assert given_again.returncode == 0, given_again.stderr
    assert json.loads(given_again.stdout)["data_sha256"] == own


def test_sound_may_come_through_a_pipe(tmp_path: Path) -> None:
    stream = io.BytesIO()
    wave = np.random.default_rng(0).uniform(-0.5, 0.5, 4000)
    soundfile.write(stream, wave, 8000, format="WAV")
    words = ["recipe=wav_generation", *SOUND, "data.path=-", "run_dir=run", "seconds=0.1"]
    done = piped(stream.getvalue(), *words, "train.max_steps=2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    refused = piped(stream.getvalue(), *TINY, "data.path=-", "run_dir=text", cwd=tmp_path)
    assert refused.returncode == 3
    assert b"/stdin: not utf-8 text: it is sound: sound is for" in refused.stderr


@pytest.mark.parametrize(
    ("way", "code", "told"),
    [
        ("cat a.txt | {} data.path=/dev/stdin", 0, "stdin: 450,000 bytes read"),
        ("mkfifo novel; {} data.path=novel", 3, "novel is neither a file nor a folder"),
        ("true | {} data.path=-", 3, "stdin: empty"),
        ("{} data.path=- < /dev/zero", 3, "stdin is a terminal or a device"),
    ],
)
def test_what_a_shell_makes_a_stream_is_read_to_its_end(
    way: str, code: int, told: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(SENTENCE * 10_000)  # more than a pipe holds
    words = [*TINY, "run_dir=run", "train.max_steps=1", "train.validate_every=0"]
    line = way.format(f'"{python()}" -m seqkit {" ".join(words)}')
    done = completed(["bash", "-c", line], tmp_path)
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr


@pytest.mark.parametrize("key", ["checkpoint", "init_from"])
def test_no_stream_is_a_checkpoint(key: str, run: Run, trained: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading, writing = os.pipe()
    words = ["generate"] if key == "checkpoint" else [*TINY, f"run_dir={tmp_path / 'run'}"]
    for place in ("-", "/dev/zero", tmp_path / "pipe", f"/dev/fd/{reading}"):
        run.fails_in_a_line(4, *words, f"{key}={place}")
    os.close(reading)
    os.close(writing)


def test_a_prompt_may_be_a_stream(trained: Path, tmp_path: Path) -> None:
    words = ["generate", f"checkpoint={trained}", "length=5", "device=cpu"]
    made = piped(b"the rain", *words, "prompt_file=-", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith(b"the rain")
    for place in ("/dev/zero", "."):
        refused = piped(b"", *words, f"prompt_file={place}", cwd=tmp_path)
        assert refused.returncode == 3, refused.stderr
        assert f"prompt_file={place}".encode() in refused.stderr
    refused = piped(b"", *words, "prompt_file=-", cwd=tmp_path)
    assert (refused.returncode, refused.stderr.count(b"\n")) == (3, 1)


def test_ctrl_c_while_a_stream_is_read_leaves_nothing(tmp_path: Path) -> None:
    words = [*TINY, "data.path=-", "run_dir=run"]
    cache = tmp_path / "cache"
    started = subprocess.Popen(
        [python(), "-m", "seqkit", *words], cwd=tmp_path, stdin=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**environment(), "SEQKIT_CACHE_DIR": str(cache)},
    )  # fmt: skip
    assert started.stdin and started.stderr
    started.stdin.write(b"the beginning")
    started.stdin.flush()
    while b"reading stdin" not in started.stderr.readline():
        pass
    started.send_signal(signal.SIGINT)
    assert b"interrupted" in started.stderr.read()
    assert started.wait() == 130
    started.stdin.close()
    started.stderr.close()
    assert not [*cache.glob("streams/*")]
    assert not (tmp_path / "run").exists()
