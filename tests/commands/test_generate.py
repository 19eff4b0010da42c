"""Generation as a user runs it."""

import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from seqkit import disk
from tests.conftest import TINY, Run, environment
from tests.terminal import Screen
from tests.warm_python import python


def test_a_trained_model_writes_its_sentence(run: Run, trained: Path) -> None:
    result = run(
        "generate", f"checkpoint={trained}", "prompt=the rain in ", "temperature=0", "length=12"
    )
    assert result.out == b"the rain in spain stays "


def test_the_same_seed_gives_the_same_text(run: Run, trained: Path) -> None:
    def text(*more: str) -> bytes:
        result = run("generate", f"checkpoint={trained}", "temperature=1.5", "length=60", *more)
        assert result.code == 0
        assert len(result.out) == 60
        return result.out

    assert text("seed=3") == text("seed=3")
    assert text("seed=3") != text("seed=4")
    assert text("top_k=1") == text("top_p=0.0001") == text("temperature=0")


def test_without_a_seed_each_text_is_another_and_its_seed_is_told(run: Run, trained: Path) -> None:
    words = ("generate", f"checkpoint={trained}", "temperature=1.5", "length=60")
    made = [run(*words), run(*words)]
    assert made[0].out != made[1].out
    for one in made:
        assert re.fullmatch(r"seed=\d+\n", one.err)
        again = run(*words, one.err.strip())
        assert (again.out, again.err) == (one.out, "")
    assert run(*words, "temperature=0").err == ""  # nothing is drawn


def test_a_prompt_is_literal_and_comes_first(run: Run, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_bytes(b"in spain\n")
    for prompt in (f"prompt_file={tmp_path / 'prompt.txt'}", "prompt=in spain\n"):
        result = run("generate", f"checkpoint={trained}", prompt, "length=5")
        assert result.out.startswith(b"in spain\n")
        assert len(result.out) == 14


def test_unknown_characters_of_a_prompt(run: Run, trained: Path) -> None:
    refused = run("generate", f"checkpoint={trained}", "prompt=thé rain")
    assert refused.code == 2
    assert "'é'" in refused.err
    assert "offset 2" in refused.err
    for rule, prompt in [("skip", b"th rain"), ("nearest", b"the rain")]:
        result = run(
            "generate",
            f"checkpoint={trained}",
            "prompt=thé rain",
            f"sample.unknown={rule}",
            "length=3",
        )
        assert result.out[:-3] == prompt
        assert "prompt: the model never saw 'é' (1): " in result.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["sample.engine=fused", "device=cpu"], 5, "needs a GPU"),
        (["sample.engine=cuda_graph", "device=cpu"], 5, "needs a GPU"),
        (["sample.engine=torch", "sample.precision=int8"], 2, "computes in fp32"),
        (["sample.precision=fp16", "device=cpu"], 2, "no engine for a CPU"),
        (["sample.engine=fast"], 2, "choose one of"),
    ],
)
def test_an_engine_that_cannot_run_is_refused(
    run: Run, trained: Path, arguments: list[str], code: int, words: str
) -> None:
    result = run("generate", f"checkpoint={trained}", *arguments)
    assert (result.code, result.out) == (code, b"")
    assert words in result.err
    assert result.err.count("\n") == 1


def test_engines_write_the_same_text(run: Run, trained: Path) -> None:
    texts = {
        run(
            "generate", f"checkpoint={trained}", "length=400", "seed=1", f"sample.engine={engine}"
        ).out
        for engine in ("auto", "torch", "onnx")
    }
    assert len(texts) == 1


def test_streams_are_printed_one_below_the_other(run: Run, trained: Path) -> None:
    arguments = ["generate", f"checkpoint={trained}", "length=20", "temperature=1.5", "prompt=the "]
    arguments += ["seed=1"]
    result = run(*arguments, "streams=3")
    alone = run(*arguments)
    assert result.out.startswith(alone.out + b"\n\n")
    assert len(result.out) == 3 * 24 + 4


def test_files_are_written_and_not_overwritten(run: Run, trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "a, b.txt"
    arguments = ["generate", f"checkpoint={trained}", "length=20", f"out={out}", "prompt=the "]
    result = run(*arguments)
    assert (result.code, result.out) == (0, b"")
    assert len(out.read_bytes()) == 24
    refused = run(*arguments)
    assert refused.code == 6
    assert "overwrite=true" in refused.err
    assert run(*arguments, "overwrite=true").code == 0
    assert run(*arguments, "streams=2").code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"a, b.txt", "a, b_1.txt", "a, b_2.txt"}
    for place in (tmp_path / "no" / "a.txt", tmp_path):
        assert run("generate", f"checkpoint={trained}", f"out={place}").code == 6
    to_stdout = run("generate", f"checkpoint={trained}", "length=20", "prompt=the ", "out=-")
    assert len(to_stdout.out) == 24


def test_bytes_models_write_bytes(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "data.bin"
    data.write_bytes(bytes(range(256)) * 8)
    result = run(
        "recipe=shakespeare", "data.kind=bytes", f"data.path={data}", f"run_dir={tmp_path / 'a'}",
        "model.hidden_size=16", "train.max_steps=2", "train.sequence_length=16", "device=cpu",
        "length=40",
    )  # fmt: skip
    assert result.code == 0, result.err
    result = run("generate", f"checkpoint={tmp_path / 'a'}", "prompt=é", "length=40")
    assert result.out[:2] == "é".encode()
    assert len(result.out) == 42


@pytest.mark.parametrize(
    "argument",
    [
        "temperature=-0.1",
        "temperature=nan",
        "top_p=1.5",
        "top_p=0",
        "top_k=0",
        "length=0",
        "streams=0",
    ],
)
def test_impossible_settings_exit_with_2(run: Run, trained: Path, argument: str) -> None:
    assert run("generate", f"checkpoint={trained}", argument).code == 2


def test_missing_and_damaged_checkpoints_exit_with_4(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.safetensors"
    content = (trained / "checkpoints" / "best.safetensors").read_bytes()
    damaged.write_bytes(content[:-7] + bytes([content[-7] ^ 255]) + content[-6:])
    (tmp_path / "text.safetensors").write_text("a text")
    for place in (tmp_path / "none", tmp_path, damaged, tmp_path / "text.safetensors"):
        result = run("generate", f"checkpoint={place}")
        assert result.code == 4, place
        assert result.out == b""
        assert result.err.count("\n") == 1


def test_a_terminal_shows_what_stdout_holds(run: Run, trained: Path) -> None:
    program = f'"{python()}" -m seqkit generate checkpoint="{trained}" length=15 seed=2'
    shown = subprocess.run(
        ["script", "-qec", program, "/dev/null"],
        env=environment(),
        capture_output=True,
        check=True,
        timeout=600,
    ).stdout.decode()
    plain = run("generate", f"checkpoint={trained}", "length=15", "seed=2").out.decode()
    assert shown.endswith("\n")
    screen = Screen(80)
    screen.feed(shown)
    assert "\n".join(screen.rows) == plain


def test_a_terminal_that_is_closed_leaves_what_was_made(trained: Path, tmp_path: Path) -> None:
    terminal, side = os.openpty()
    more = ["streams=2", "length=10000000", "out=long.txt"]
    with subprocess.Popen(
        [sys.executable, "-m", "seqkit", "generate", f"checkpoint={trained}", *more],
        cwd=tmp_path, env=environment(), stderr=side,
    ) as making:  # fmt: skip
        try:
            os.close(side)
            said = b""
            while b"symbols/s" not in said:
                said += os.read(terminal, 1000)
            os.close(terminal)
            making.send_signal(signal.SIGSTOP)  # it hears both at once, however busy the machine is
            making.send_signal(signal.SIGHUP)
            making.send_signal(signal.SIGTERM)  # more of them disturb nothing
            making.send_signal(signal.SIGCONT)
            assert making.wait(600) == 75
        finally:
            making.kill()
    for made in (tmp_path / "long_1.txt", tmp_path / "long_2.txt"):
        assert 50 <= len(made.read_text()) < 10_000_000


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_ends_text_on_stdout_in_a_line(
    sent: signal.Signals, trained: Path, tmp_path: Path
) -> None:
    words = ["generate", f"checkpoint={trained}", "length=10000000", "seed=1"]
    with subprocess.Popen(
        [python(), "-m", "seqkit", *words],
        cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as making:  # fmt: skip
        try:
            assert making.stdout is not None
            begun = making.stdout.read(50)
            making.send_signal(sent)
            rest, said = making.communicate(timeout=600)
            assert making.returncode == 75
        finally:
            making.kill()
    assert 50 <= len(begun + rest) < 10_000_000
    assert said.decode().endswith(f"stopped by {sent.name}: what it wrote until then is whole\n")
    assert said.count(b"\n") == 1


class Signalling(io.BytesIO):
    """A file during whose finishing impatient people send signal after signal."""

    def __init__(self, file: IO[bytes], sent: signal.Signals) -> None:
        super().__init__()
        self._file = file
        self._sent = sent
        self._written = 0

    def write(self, content: Any) -> int:
        self._written += self._file.write(content)
        if self._written > 300:
            self._send()
        return len(content)

    def flush(self) -> None:
        self._send()
        self._file.flush()
        self._send()

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()

    def _send(self) -> None:
        if self._written:
            signal.raise_signal(self._sent)
            signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize(
    ("sent", "code", "length"), [(signal.SIGTERM, 75, 10**9), (signal.SIGINT, 130, 200)]
)
def test_signals_while_text_is_saved_lose_nothing(
    sent: signal.Signals, code: int, length: int,
    run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    real = disk.open_file
    monkeypatch.setattr(disk, "open_file", lambda path, mode: Signalling(real(path, mode), sent))
    out, seed = tmp_path / "made.txt", "seed=5"
    words = [f"checkpoint={trained}", f"length={length}", "streams=2", seed]
    result = run("generate", *words, f"out={out}")
    assert result.code == code, result.err
    assert ("files end early" if length > 200 else "written") in result.err
    assert {file.name for file in tmp_path.iterdir()} == {"made_1.txt", "made_2.txt"}
    monkeypatch.undo()
    texts = [(tmp_path / f"made_{number}.txt").read_bytes() for number in (1, 2)]
    assert len(texts[0]) == len(texts[1])
    assert len(texts[0]) == length or 300 < len(texts[0]) < 5000
    whole = run("generate", f"checkpoint={trained}", f"length={len(texts[0])}", "streams=2", seed)
    assert whole.out == b"\n\n".join(texts)


def test_it_works_from_any_folder(
    run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["length=10", "prompt=it's", "sample.unknown=skip"]
    done = run("generate", f"checkpoint={trained}", *arguments)
    assert done.code == 0, done.err
    assert not list(tmp_path.iterdir())


def test_what_is_not_given_is_as_in_the_trainings_own_samples(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    short = ("train.max_steps=3", "temperature=0.0", f"run_dir={folder}")
    assert run(*TINY, f"data.path={text_file}", *short).code == 0

    def text(*more: str) -> bytes:
        result = run("generate", f"checkpoint={folder}", "length=60", *more)
        assert result.code == 0, result.err
        return result.out

    assert text("seed=1") == text("seed=2")
    assert text("seed=1", "temperature=1.5") != text("seed=2", "temperature=1.5")


def test_what_is_no_regular_file_is_not_replaced(run: Run, trained: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused = run(
        *("generate", f"checkpoint={trained}", "length=5", f"out={tmp_path / 'pipe'}"),
        "overwrite=true",
    )
    assert (refused.code, "no regular file" in refused.err) == (6, True)


def test_a_hundred_million_files_are_refused_before_they_are_named(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    words = [f"checkpoint={trained}", "device=cpu", f"out={tmp_path / 'a.txt'}"]
    refused = run("generate", *words, "streams=100000000")
    assert (refused.code, refused.err.count("\n")) == (5, 1)
    assert not list(tmp_path.glob("a*"))
