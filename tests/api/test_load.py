"""What `seqkit.load` is given wrongly is named."""

from pathlib import Path
from typing import Any

import pytest

import seqkit
from tests.conftest import EARLIER_RUNS


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((5,), "checkpoint=5: expected"),
        (("run", 5), "device=5: expected str"),
        (("run", "cpu", "my_mod"), "plugins='my_mod': expected a list, got str"),
    ],
)
def test_wrong_arguments_are_named(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(seqkit.ConfigError, match=words):
        seqkit.load(*arguments)


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("no checkpoint")
    for place, words in [
        (tmp_path / "none", "no such checkpoint"),
        (tmp_path, "no checkpoint in this folder"),
        (tmp_path / "text.txt", "not a seqkit checkpoint"),
    ]:
        with pytest.raises(seqkit.CheckpointError, match=words):
            seqkit.load(place)
    with pytest.raises(seqkit.ConfigError, match="device=tpu"):
        seqkit.load(EARLIER_RUNS / "mu_law", device="tpu")
