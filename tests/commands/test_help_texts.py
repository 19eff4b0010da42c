"""A file or a folder that is given without its key: the key that was meant is named."""

import shlex
from pathlib import Path

import pytest

from tests.conftest import SENTENCE, Run


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("generate runs/a", "checkpoint=runs/a"),
        ("generate runs/a/checkpoints/best.safetensors length=9", "checkpoint=runs/a/checkpoints"),
        ("generate checkpoint=runs/a play.txt", "prompt_file=play.txt"),
        ("evaluate runs/a play.txt json=true", "checkpoint=runs/a data.path=play.txt"),
        ("compress checkpoint=runs/a 'my play.txt' out=b", "'data.path=my play.txt'"),
        ("report runs/a", "run_dir=runs/a"),
        ("doctor play.txt", "data.path=play.txt"),
        ("compare runs/a", "runs=runs/a"),
        ("train runs/a", "run_dir=runs/a"),
        ("runs/a", "run_dir=runs/a"),
        ("recipe=shakespeare play.txt", "data.path=play.txt"),
        ("--multirun recipe=shakespeare seed=1,2 play.txt", "data.path=play.txt"),
    ],
)
def test_the_key_that_was_meant_is_named(
    words: str, meant: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        checkpoints = Path("runs", name, "checkpoints")
        checkpoints.mkdir(parents=True)
        (checkpoints / "best.safetensors").touch()
    for name in ("play.txt", "my play.txt", "voice.wav"):
        Path(name).write_text(SENTENCE)
    refused = run(*shlex.split(words))
    assert (refused.code, refused.out) == (2, b"")
    assert f" without a key: did you mean {meant}" in refused.err
    assert refused.err.count("\n") == 1
