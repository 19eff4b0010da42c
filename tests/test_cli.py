"""The program as a user meets it: exit codes, streams and words."""

import subprocess
import sys
from pathlib import Path

import pytest

import seqkit
from seqkit.commands import COMMANDS, reads
from tests.conftest import TINY, Run, Write, completed, environment
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


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_shows_an_example_with_keys_that_it_reads(command: str, run: Run) -> None:
    usage, example = run(command, "--help").out.decode().splitlines()[:2]
    start, words = "example: python -m seqkit ", COMMANDS[command].example.split()
    assert example == start + " ".join(words)
    assert max(len(usage), len(example)) <= 80
    keys = [word.partition("=")[0] for word in words if "=" in word]
    assert keys and all(reads(command, key) for key in keys)
    assert (words[0] == command) or command == "train"


@pytest.mark.parametrize("word", ["--version", "version"])
def test_version(word: str, run: Run) -> None:
    assert run(word).out.decode().strip() == seqkit.__version__


@pytest.mark.parametrize(
    "arguments",
    [
        ["trian"],
        ["recipe=none"],
        ["train"],
        ["model.num_layers=2"],
        ["recipe=shakespeare", "model.depth=2"],
        ["recipe=shakespeare", "train.max_steps=many"],
        ["recipe=shakespeare", "device=tpu"],
        ["recipe=shakespeare", "resume=auto"],
        ["recipe=shakespeare", "--config-dir", "none"],
        ["recipe=shakespeare", "train.precision=fp16", "device=cpu"],
        ["recipe=shakespeare", "prompt=a", "prompt_file=b"],
        ["--multirun", "recipe=shakespeare", "model.num_layers=1,0"],
        ["--multirun", "generate", "checkpoint=x"],
        ["generate"],
        ["--nonsense"],
    ],
)
def test_misuse_exits_with_2_and_leaves_nothing(
    arguments: list[str], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run.fails_in_a_line(2, *arguments)
    assert result.startswith("seqkit: error:")
    assert not list(tmp_path.iterdir())


def test_keys_that_a_command_does_not_read_are_named(run: Run, tmp_path: Path) -> None:
    result = run("inspect", f"checkpoint={tmp_path}", "train.max_steps=5")
    assert "inspect does not read train.max_steps" in result.err


def test_the_composed_config_can_be_shown(run: Run) -> None:
    result = run("recipe=shakespeare", "model.hidden_size=77", "--cfg")
    assert "hidden_size: 77" in result.out.decode()


def test_a_closed_pipe_ends_quietly(trained: Path) -> None:
    words = f'generate checkpoint="{trained}" seed=1 length=5000'
    command = f'"{python()}" -m seqkit {words} | head -c 9'
    done = completed(["bash", "-c", f"set -o pipefail; {command}"])
    assert len(done.stdout) == 9
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_in_place_of_a_command_is_met_with_a_hint(run: Run, text_file: Path) -> None:
    assert "give it by its key, as in data.path=FILE" in run.fails(2, text_file)


def test_an_empty_path_of_data_is_refused(run: Run, tmp_path: Path) -> None:
    assert "data.path= is empty" in run.fails(2, *TINY, "data.path=", f"run_dir={tmp_path / 'a'}")


def test_errors_never_go_to_stdout(tmp_path: Path) -> None:
    script = f'"{python()}" -m seqkit generate checkpoint=nowhere 2>&-'
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (4, b"")


def test_a_missing_config_dir_is_told_in_the_help_too(run: Run, tmp_path: Path) -> None:
    for words in (["--help"], ["recipe=shakespeare", "--cfg"]):
        refused = run.fails(2, "--config-dir", str(tmp_path / "none"), *words)
        assert f"--config-dir {tmp_path / 'none'}: no such folder" in refused


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


@pytest.mark.parametrize("key", ["run_dir", "data.path", "out"])
def test_a_tilde_that_no_shell_expanded_is_refused(key: str, run: Run) -> None:
    assert "write $HOME in its place" in run.fails(2, "recipe=shakespeare", f"{key}=~/a")


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
