"""Training from Python leaves what the command leaves, and tells all of it."""

import contextlib
import io
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import seqkit
from seqkit.foundation.errors import ConfigError
from seqkit.runs import events
from seqkit.runs.events import Event
from seqkit.training.events import CheckpointDue, Stepped
from tests.conftest import SMALL, TINY, Run, completed, fill_disk, saved


def test_a_run_is_that_of_the_command(run: Run, text_file: Path, tmp_path: Path) -> None:
    more = ["train.max_steps=12", "train.validate_every=6"]
    done = run.ok(*TINY, *more, f"data.path={text_file}", f"run_dir={tmp_path / 'a'}")
    told: list[Event] = []
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        trained = seqkit.train(
            "shakespeare", *SMALL, *more, f"run_dir={tmp_path / 'b'}", data=text_file,
            on_event=told.append,
        )  # fmt: skip
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert printed.getvalue() == ""
    names = [type(event).__name__ for event in told]
    assert names[0] == "Started"
    assert names[-1] == "Finished"
    assert names.count("Validated") == names.count("Sampled") == 2
    order = [names.index(name) for name in ("Validated", "CheckpointDue", "SampleDue", "Sampled")]
    assert order == sorted(order)
    of_a, of_b = (
        sorted(str(file.relative_to(folder)) for file in folder.rglob("*"))
        for folder in (tmp_path / "a", tmp_path / "b")
    )
    assert of_a == of_b
    losses = [line["loss"] for line in trained.metrics if line["event"] == "validate"]
    assert trained.summary["best_validation_loss"] == min(losses)
    assert trained.load("cpu").generate(length=30, seed=0).encode() == done.out


@pytest.mark.parametrize(
    ("arguments", "keywords", "words"),
    [
        (["shakespear"], {}, "did you mean shakespeare"),
        ([5], {}, "recipe=5: expected str, got int"),
        (["shakespeare"], {"plugins": ["no_such_module"]}, "plugins=no_such_module"),
        (["shakespeare"], {"config_dirs": "/tmp"}, "config_dirs='/tmp': expected a list"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: list[Any], keywords: dict[str, Any], words: str
) -> None:
    with pytest.raises(seqkit.ConfigError, match=words):
        seqkit.train(*arguments, **keywords)


def test_the_caller_finds_things_as_they_were(
    text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.use_deterministic_algorithms(True)
    try:
        run = seqkit.train(
            "shakespeare", *SMALL, "train.max_steps=2", "run_dir=run", data=text_file
        )
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)
    monkeypatch.chdir("/")
    assert run.summary["steps"] == 2
    assert run.load("cpu").generate(length=3)
    with pytest.raises(seqkit.CheckpointError, match=r"summary\.json: cannot be read"):
        _ = seqkit.Run(tmp_path).summary


def test_an_observer_that_fails_leaves_a_run_that_goes_on(text_file: Path, tmp_path: Path) -> None:
    keys = [*SMALL, "train.max_steps=6", "train.checkpoint_every=2", f"run_dir={tmp_path / 'a'}"]

    def fail(event: Event) -> None:
        if isinstance(event, CheckpointDue) and event.step == 4:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        seqkit.train("shakespeare", *keys, data=text_file, on_event=fail)
    seen: list[Event] = []
    seqkit.train("shakespeare", *keys, "resume=auto", data=text_file, on_event=seen.append)
    assert isinstance(seen[0], events.Started)
    assert seen[0].step == 4


@pytest.mark.thorough
def test_a_save_that_fails_meanwhile_ends_the_training(
    text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [*SMALL, "train.checkpoint_every=100", f"run_dir={tmp_path / 'a'}", "resume=auto"]
    seen: list[Event] = []

    def fill(event: Event) -> None:
        if event == Stepped(150):
            while saved(tmp_path / "a").metrics["step"] < 100:
                time.sleep(0.01)
            fill_disk(monkeypatch, files=".last*")
        seen.append(event)

    with pytest.raises(seqkit.OutputError, match=r"last\.safetensors: no space left on device"):
        seqkit.train("shakespeare", *keys, "train.max_steps=50000", data=text_file, on_event=fill)
    ended = max(event.step for event in seen if isinstance(event, Stepped))
    assert 199 <= ended < 299  # at 300 the next save would have found out
    assert not (tmp_path / "a" / "summary.json").exists()
    monkeypatch.undo()
    assert saved(tmp_path / "a").metrics["step"] == 100
    run = seqkit.train("shakespeare", *keys, "train.max_steps=101", data=text_file)
    assert run.summary["steps"] == 101


def test_it_is_no_part_of_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
    for name, value in {**said, "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match="torchrun -m seqkit"):
        seqkit.train("shakespeare")


def test_it_learns_from_a_text(tmp_path: Path) -> None:
    keys = [*SMALL, "train.max_steps=2", f"run_dir={tmp_path / 'a'}"]
    told: list[Event] = []
    text = "a naïve line\n" * 90
    done = seqkit.train("shakespeare", *keys, text=text, on_event=told.append)
    assert isinstance(told[0], events.Started) and told[0].symbols == len(text)
    assert done.load("cpu").nats("naïve").size == 5
    keys[-2] = "train.max_steps=4"
    seqkit.train("shakespeare", *keys, "resume=auto", text=text)
    assert done.summary["steps"] == 4


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (
            {"data": "one\ntwo\n" * 999},
            "data is no path, but 7,992 characters: give a text as text",
        ),
        ({"text": np.zeros(3)}, "expected str, got ndarray"),
        ({"text": "one", "data": "two"}, "give data or text, not both"),
        ({"text": " \n"}, "text is empty: there is nothing"),
    ],
)
def test_what_is_no_path_and_no_text_is_named(keys: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told) as raised:
        seqkit.train("shakespeare", **keys)
    assert len(str(raised.value)) < 200
    with pytest.raises(ConfigError, match="not two of them"):
        seqkit.train("shakespeare", "data.path=a.txt", text="one")


@pytest.mark.thorough
def test_importing_seqkit_waits_for_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, seqkit; heavy = {'torch', 'numpy', 'hydra', 'matplotlib'} & set(sys.modules);"
        "assert not heavy, heavy; assert 'load' in dir(seqkit);"
        "from seqkit import CharRNN, codecs, events;"
        "assert codecs.Characters; assert events.Finished"
    )
    done = completed([sys.executable, "-c", code], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = seqkit.nothing
    for name in seqkit.__all__:
        assert getattr(seqkit, name) is not None
