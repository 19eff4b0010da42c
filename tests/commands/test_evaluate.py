"""Evaluation as a user runs it, and what inspect shows."""

import hashlib
import json
import math
from pathlib import Path

import pytest

from tests.conftest import SENTENCE, Run


def test_its_own_validation_part_scores_as_in_training(run: Run, trained: Path) -> None:
    result = run("evaluate", f"checkpoint={trained}", "json=true", "device=cpu")
    assert result.code == 0, result.err
    scores = json.loads(result.out)
    summary = json.loads((trained / "summary.json").read_text())
    assert scores["loss"] == pytest.approx(summary["best_validation_loss"], abs=0.001)
    assert scores["bits_per_symbol"] == pytest.approx(scores["loss"] / math.log(2))
    size = 100 * len(SENTENCE)
    assert scores["symbols"] == size - int(size * 0.9)
    assert scores["protocol"] == "streaming"
    assert scores["data_sha256"] == summary["data"]["sha256"]


def test_a_file_is_read_whole(run: Run, trained: Path, text_file: Path) -> None:
    scores = {}
    for protocol in ("streaming", "windowed"):
        result = run(
            "evaluate", f"checkpoint={trained}", f"data.path={text_file}", "json=true",
            f"protocol={protocol}", "window=10",
        )  # fmt: skip
        scores[protocol] = json.loads(result.out)
        assert scores[protocol]["symbols"] == len(text_file.read_bytes())
        assert scores[protocol]["skipped"] == 0
        digest = hashlib.sha256(text_file.read_bytes()).hexdigest()
        assert scores[protocol]["data_sha256"] == digest
    assert scores["windowed"]["loss"] > scores["streaming"]["loss"]


def test_unknown_characters_follow_the_rule(run: Run, trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("the r☃in in sp☃in")
    arguments = ["evaluate", f"checkpoint={trained}", f"data.path={path}", "json=true"]
    refused = run(*arguments)
    assert refused.code == 3
    assert "offset 5" in refused.err
    skipped = json.loads(run(*arguments, "data.unknown=skip").out)
    assert (skipped["skipped"], skipped["symbols"]) == (2, 15)
    nearest = json.loads(run(*arguments, "data.unknown=nearest").out)
    assert (nearest["skipped"], nearest["symbols"]) == (0, 17)


def test_the_result_can_go_to_a_file(run: Run, trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.json"
    arguments = ["evaluate", f"checkpoint={trained}", "json=true", f"out={out}"]
    assert run(*arguments).out == b""
    assert json.loads(out.read_text())["symbols"] > 0
    assert run(*arguments).code == 6


def test_a_text_for_people(run: Run, trained: Path) -> None:
    assert b"bits_per_symbol" in run("evaluate", f"checkpoint={trained}").out


def test_inspect_shows_what_a_checkpoint_holds(run: Run, trained: Path) -> None:
    shown = json.loads(run("inspect", f"checkpoint={trained}", "json=true").out)
    assert shown["model"]["hidden_size"] == 24
    assert shown["codec"]["vocabulary"] == "".join(sorted(set(SENTENCE)))
    assert shown["training_state"] is False
    last = trained / "checkpoints" / "last.safetensors"
    shown = json.loads(run("inspect", f"checkpoint={last}", "json=true").out)
    assert shown["training_state"] is True
    assert shown["metrics"]["step"] == 150
    assert b"model.hidden_size" in run("inspect", f"checkpoint={trained}").out
