"""A closing sample ends in time, and keeps what was made by then."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from seqkit.api.run_files import _in_time, closing_file
from seqkit.config import Config, TrainConfig
from seqkit.data.codecs import MuLaw
from seqkit.foundation.errors import OutputError
from seqkit.generation.medium import medium_of
from seqkit.runs.folder import RunFolder


def test_a_block_that_comes_after_the_limit_is_kept_and_is_the_last() -> None:
    made: list[int] = []

    def blocks() -> Iterator[Any]:
        for number in range(5):
            if number == 2:
                time.sleep(1.1)  # a second is the least that it may take
            made.append(number)
            yield np.full((100, 1), number)

    config = Config(train=TrainConfig(max_minutes=1e-3))
    corpus = SimpleNamespace(codec=MuLaw(256, 1000))
    closing = SimpleNamespace(length=500)
    training: Any = SimpleNamespace(config=config, closing=closing, corpus=corpus)
    notices: list[str] = []
    kept = [int(block[0, 0]) for block in _in_time(blocks(), training, notices.append)]
    assert kept == made == [0, 1, 2]
    assert notices[0].startswith("the closing sample ends after 0.3 s of 0.5 s")


def test_none_is_written_to_a_folder_that_was_lost(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.make()
    closing = SimpleNamespace(medium=medium_of(MuLaw(256, 8000)))
    training: Any = SimpleNamespace(folder=folder, closing=closing)
    assert closing_file(training) == folder.path / "samples" / "final.wav"
    folder.lock.unlink()
    with pytest.raises(OutputError, match="no longer the file that this training holds"):
        closing_file(training)
