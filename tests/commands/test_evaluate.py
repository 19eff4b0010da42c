"""Evaluation as a user runs it, and what inspect shows."""

import json
import lzma
import math
from pathlib import Path

import pytest
import yaml

from tests.conftest import SENTENCE, TINY, Run, summary_of


def test_its_own_validation_part_scores_as_in_training(run: Run, trained: Path) -> None:
    scores = run.json("evaluate", f"checkpoint={trained}", "device=cpu")
    summary = summary_of(trained)
    assert scores["loss"] == pytest.approx(summary["best_validation_loss"], abs=0.001)
    assert scores["bits_per_symbol"] == pytest.approx(scores["loss"] / math.log(2))
    size = 100 * len(SENTENCE)
    assert scores["symbols"] == size - int(size * 0.9)
    assert (scores["protocol"], scores["window"], scores["part"]) == (
        *("streaming", None, "validation"),
    )
    assert scores["checkpoint"] == str(trained / "checkpoints" / "best.safetensors")
    assert scores["device"].startswith("cpu")
    assert scores["data_sha256"] == summary["data"]["sha256"]


def test_its_own_data_are_known_where_they_were_moved(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "moved.txt"
    moved.write_text(100 * SENTENCE)
    words = ("evaluate", f"checkpoint={trained}", "device=cpu", "json=true")
    found = run.ok(*words, f"data.path={moved}")
    assert "the checkpoint's own data: of it the validation part" in found.err
    assert found.out == run.ok(*words).out


def test_unknown_characters_follow_the_rule(run: Run, trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("the r☃in in sp☃in")
    arguments = ["evaluate", f"checkpoint={trained}", f"data.path={path}", "json=true"]
    assert "offset 5" in run.fails(3, *arguments)
    skipped = json.loads(run(*arguments, "data.unknown=skip").out)
    assert (skipped["skipped"], skipped["symbols"]) == (2, 15)
    nearest = json.loads(run(*arguments, "data.unknown=nearest").out)
    assert (nearest["skipped"], nearest["symbols"]) == (2, 15)


def test_every_protocol_tells_what_it_measured(run: Run, trained: Path, text_file: Path) -> None:
    words = ("evaluate", f"checkpoint={trained}", f"data.path={text_file}", "json=true")
    scores = {
        protocol: json.loads(run(*words, f"protocol={protocol}").out)
        for protocol in ("streaming", "windowed", "dynamic")
    }
    for name, score in scores.items():
        assert (score["protocol"], score["part"]) == (name, None)
        assert (score["symbols"], score["skipped"]) == (len(text_file.read_bytes()), 0)
        assert score["window"] == (256 if name == "windowed" else None)
        assert score["xz_bits"] == scores["streaming"]["xz_bits"]
    assert scores["dynamic"]["loss"] < 0.9 * scores["streaming"]["loss"]


def test_bytes_are_those_of_the_text_as_it_was_scored(run: Run, tmp_path: Path) -> None:
    text = "naïve – ☃\r\n" * 60
    (tmp_path / "a.txt").write_bytes(text.encode())
    words = [*TINY, f"data.path={tmp_path / 'a.txt'}", "train.max_steps=1"]
    run.ok(*words, f"run_dir={tmp_path / 'run'}")
    (tmp_path / "b.txt").write_bytes(text.replace("v", "vw").encode())
    score = run.json(
        "evaluate",
        f"checkpoint={tmp_path / 'run'}",
        "data.unknown=skip",
        f"data.path={tmp_path / 'b.txt'}",
    )
    assert (score["symbols"], score["skipped"]) == (len(text), 60)
    assert score["bytes"] == len(text.encode())
    assert score["bits_per_byte"] * score["bytes"] == pytest.approx(
        score["bits_per_symbol"] * score["symbols"]
    )
    assert score["xz_bits"] == 8 * len(lzma.compress(text.encode())) / len(text)


def test_inspect_shows_what_a_checkpoint_holds(run: Run, trained: Path) -> None:
    shown = run.json("inspect", f"checkpoint={trained}")
    assert shown["model"]["hidden_size"] == 24
    assert shown["codec"]["vocabulary"] == "".join(sorted(set(SENTENCE)))
    assert shown["training_state"] is False
    last = trained / "checkpoints" / "last.safetensors"
    shown = run.json("inspect", f"checkpoint={last}")
    assert shown["training_state"] is True
    assert shown["metrics"]["step"] == 150
    assert yaml.safe_load(run("inspect", f"checkpoint={last}").out) == shown
