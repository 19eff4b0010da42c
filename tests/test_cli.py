"""The program as a user meets it: exit codes, streams and words."""

import subprocess
import sys
from pathlib import Path

import pytest

import seqkit
from tests.conftest import Run, Write, completed, environment
from tests.warm_python import python


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_commands_and_recipes(arguments: list[str], run: Run) -> None:
    result = run.ok(*arguments)
    for word in ("train", "generate", "evaluate", "inspect", "shakespeare", "--multirun"):
        assert word in result.out.decode()


def test_each_command_lists_the_keys_that_it_reads(run: Run) -> None:
    text = run("generate", "--help").out.decode()
    assert run("generate", "help").out.decode() == run("help", "generate").out.decode() == text
    assert "top_p" in text
    assert "(auto, " in text  # the values of sample.engine
    assert "train.max_steps" not in text
    assert "train.max_steps" in run("train", "--help").out.decode()


@pytest.mark.parametrize("word", ["--version", "version"])
def test_version(word: str, run: Run) -> None:
    assert run(word).out.decode().strip() == seqkit.__version__


def test_keys_that_a_command_does_not_read_are_named(run: Run, tmp_path: Path) -> None:
    result = run("inspect", f"checkpoint={tmp_path}", "train.max_steps=5")
    assert "inspect does not read train.max_steps" in result.err


def test_a_key_that_training_does_not_read_changes_nothing(
    run: Run, tiny: list[str], tmp_path: Path
) -> None:
    words = ["train.max_steps=1", "length=9"]
    plain = run.ok(*tiny, *words, f"run_dir={tmp_path / 'b'}").out
    result = run.ok(*tiny, *words, "label=x", "until=e")
    assert "train does not read label, until" in result.err
    assert result.out == plain


def test_the_composed_config_can_be_shown(run: Run) -> None:
    result = run("recipe=shakespeare", "model.hidden_size=77", "--cfg")
    assert "hidden_size: 77" in result.out.decode()
    assert "hidden_size: 512" in run.ok("--cfg").out.decode()


def test_a_closed_pipe_ends_quietly(trained: Path) -> None:
    words = f'generate checkpoint="{trained}" seed=1 length=5000'
    command = f'"{python()}" -m seqkit {words} | head -c 9'
    done = completed(["bash", "-c", f"set -o pipefail; {command}"])
    assert len(done.stdout) == 9
    assert (done.returncode, done.stderr) == (0, "")


def test_errors_never_go_to_stdout(tmp_path: Path) -> None:
    script = f'"{python()}" -m seqkit generate checkpoint=nowhere 2>&-'
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (4, b"")


def test_a_plug_in_that_fails_is_shown_with_its_line(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import json\n\n",
        "class Data:\n    def locate(self, folders):\n        return self._read()\n\n",
        "    def _read(self):\n        return json.loads('{')\n\n",
        "DATASETS = {'mine': Data()}\n",
    )
    write("mine.py", "".join(code))
    words = ("recipe=shakespeare", "plugins=mine", "data.dataset=mine")
    refused = run.fails_in_a_line(3, *words)
    assert "locate(folders) failed: JSONDecodeError: Expecting" in refused
    assert "mine.py, line 8); SEQKIT_TRACEBACK=1 shows" in refused
    monkeypatch.setenv("SEQKIT_TRACEBACK", "1")
    whole = run(*words)
    assert whole.code == 3
    assert "return json.loads('{')" in whole.err
    assert "SEQKIT_TRACEBACK" not in whole.err.splitlines()[-1]


def test_a_ctrl_c_at_the_very_end_disturbs_nothing() -> None:
    program = (
        "import atexit, os, signal, sys\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "from seqkit.cli import entry\n"
        "sys.argv[1:] = ['--version']\n"
        "entry()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
