"""What a run needs to go on."""

import dataclasses
from pathlib import Path

import pytest

from seqkit.config import Config, DataConfig
from seqkit.foundation.errors import DataError
from seqkit.runs import resume
from tests.conftest import saved

pytestmark = pytest.mark.faults


def test_a_run_whose_data_moved_asks_where_they_are(trained: Path, text_file: Path) -> None:
    last, gone = saved(trained), text_file.with_name("gone.txt")

    def take_place(kept: list[str], given: list[str]) -> None:
        config = Config(run_dir="runs/a", resume="auto", data=DataConfig(path=given))
        settings = {**last.config, "data": {**last.config["data"], "path": kept}}
        run = dataclasses.replace(last, config=settings)
        resume.take_place(config, run, lambda text: None)
        resume.require_data(config, run)

    for given in ([], [str(gone)]):
        with pytest.raises(DataError) as told:
            take_place([str(gone)], given)
        assert str(told.value) == (
            f"{gone}: cannot be read: no such file or directory: these are the run's data: give "
            "where they lie now, data.path=…, beside run_dir=runs/a resume=auto"
        )
    with pytest.raises(DataError, match=r"data\.path=…, and the others of its 2 paths, beside"):
        take_place([str(text_file), str(gone)], [])
    take_place([str(gone)], [str(text_file)])
    take_place([str(text_file), "s3://bucket/a"], [])
