"""A checkpoint's own data is found again; what it names is not trusted."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest

from seqkit.foundation.catalogue import Catalogue
from seqkit.runs.checkpoint import Checkpoint, load
from tests.conftest import SENTENCE, Run

BEST = "checkpoints/best.safetensors"


def forge(file: Path, **data: Any) -> Checkpoint:
    """The checkpoint, with other data settings in its config."""
    saved = load(file, Catalogue())
    config = {**saved.config, "data": {**saved.config["data"], **data}}
    return dataclasses.replace(saved, config=config)


def test_it_is_found_by_its_path(run: Run, trained: Path) -> None:
    done = run.ok("evaluate", f"checkpoint={trained}", "json=true", "device=cpu")
    record = load(trained / BEST, Catalogue()).data
    assert json.loads(done.out)["data_sha256"] == record["sha256"]
    assert record["bytes"] == 100 * len(SENTENCE)


@pytest.mark.parametrize("place", ["/dev/zero", "/proc/self/mem", "pipe", "longer.txt", "none.txt"])
def test_only_a_file_of_the_recorded_size_is_opened(
    place: str, run: Run, trained: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "longer.txt").write_text("the rain " * 501)
    path = Path(place) if place.startswith("/") else tmp_path / place
    forge(trained / BEST, path=[str(path)]).save(tmp_path / "foreign.safetensors")
    refused = run.fails_in_a_line(
        3, "evaluate", f"checkpoint={tmp_path / 'foreign.safetensors'}", "device=cpu"
    )
    assert "give data.path" in refused


def test_a_data_set_that_nobody_offers_is_not_imported(
    run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    saved = forge(trained / BEST, path=[], dataset="evil")
    saved.config["plugins"] = ["evil"]
    saved.save(tmp_path / "foreign.safetensors")
    refused = run.fails(
        3, "evaluate", f"checkpoint={tmp_path / 'foreign.safetensors'}", "device=cpu"
    )
    assert "data.dataset=evil was not found" in refused
    assert "plugins=evil, as in the training" in refused


def test_a_part_that_there_was_not_is_named(run: Run, trained: Path) -> None:
    refused = run.fails(3, "evaluate", f"checkpoint={trained}", "part=test", "device=cpu")
    assert "without a test part" in refused
