"""Evaluation as a user runs it, and what inspect shows."""

import json
import lzma
import math
from pathlib import Path

import pytest

import seqkit
from seqkit.config import DynamicConfig
from tests.conftest import SENTENCE, TINY, Run


def test_line_ends_are_read_as_in_the_training(run: Run, tmp_path: Path) -> None:
    (tmp_path / "dos.txt").write_bytes(SENTENCE.replace("\n", "\r\n").encode() * 40)
    (tmp_path / "prompt.txt").write_bytes(b"the rain\r\n")
    data, checkpoint = f"data.path={tmp_path / 'dos.txt'}", f"checkpoint={tmp_path / 'run'}"
    words = [*TINY, data, "train.max_steps=2"]
    trained = run(*words, "data.newline=lf", f"run_dir={tmp_path / 'run'}")
    assert trained.code == 0, trained.err
    for given in ([data], []):
        scored = run("evaluate", checkpoint, *given, "json=true", "device=cpu")
        assert scored.code == 0, scored.err
    made = run("generate", checkpoint, f"prompt_file={tmp_path / 'prompt.txt'}", "device=cpu")
    assert made.out.startswith(b"the rain\n"), made.err
    assert seqkit.load(tmp_path / "run", "cpu").nats("a\r\na").shape == (3,)
    tuned = run(*words, f"init_from={tmp_path / 'run'}", f"run_dir={tmp_path / 'b'}")
    assert tuned.code == 0, tuned.err
    assert "newline: lf" in (tmp_path / "b" / "config.yaml").read_text()


def test_its_own_validation_part_scores_as_in_training(run: Run, trained: Path) -> None:
    result = run("evaluate", f"checkpoint={trained}", "json=true", "device=cpu")
    assert result.code == 0, result.err
    scores = json.loads(result.out)
    summary = json.loads((trained / "summary.json").read_text())
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


def test_every_protocol_tells_what_it_measured(run: Run, trained: Path, text_file: Path) -> None:
    words = ("evaluate", f"checkpoint={trained}", f"data.path={text_file}", "json=true")
    scores = {
        protocol: json.loads(run(*words, f"protocol={protocol}", "dynamic.window=9").out)
        for protocol in ("streaming", "windowed", "dynamic")
    }
    for name, score in scores.items():
        assert (score["protocol"], score["part"]) == (name, None)
        assert (score["symbols"], score["skipped"]) == (len(text_file.read_bytes()), 0)
        assert score["window"] == (256 if name == "windowed" else None)
        settings = {**vars(DynamicConfig()), "window": 9} if name == "dynamic" else None
        assert score["dynamic"] == settings
        assert score["interval_from"] == "32 blocks"
        low, high = score["loss_interval"]
        assert low < score["loss"] < high
        assert score["bits_interval"] == pytest.approx([low / math.log(2), high / math.log(2)])
        assert score["ngram_bits"] == scores["streaming"]["ngram_bits"]
    assert scores["dynamic"]["loss"] < 0.9 * scores["streaming"]["loss"]


def test_bytes_are_those_of_the_text_as_it_was_scored(run: Run, tmp_path: Path) -> None:
    text = "naïve – ☃\r\n" * 60
    (tmp_path / "a.txt").write_bytes(text.encode())
    words = [*TINY, f"data.path={tmp_path / 'a.txt'}", "train.max_steps=1", "data.newline=lf"]
    assert run(*words, f"run_dir={tmp_path / 'run'}").code == 0
    (tmp_path / "b.txt").write_bytes(text.replace("v", "vw").encode())
    evaluated = run(
        "evaluate", f"checkpoint={tmp_path / 'run'}", "json=true", "data.unknown=skip",
        f"data.path={tmp_path / 'b.txt'}",
    )  # fmt: skip
    score = json.loads(evaluated.out)
    read = text.replace("\r\n", "\n")
    assert (score["symbols"], score["skipped"]) == (len(read), 60)
    assert score["bytes"] == len(read.encode())
    assert score["bits_per_byte"] * score["bytes"] == pytest.approx(
        score["bits_per_symbol"] * score["symbols"]
    )
    assert score["xz_bits"] == 8 * len(lzma.compress(read.encode())) / len(read)


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


def test_a_result_goes_to_a_file_or_is_refused_before_anything_is_read(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    out = tmp_path / "there.json"
    made = run("evaluate", f"checkpoint={trained}", "json=true", f"out={out}")
    assert (made.code, made.out) == (0, b"")
    assert json.loads(out.read_text())["symbols"] > 0
    for place in ("none/a.json", ".", "there.json"):
        refused = run(
            "evaluate", f"checkpoint={trained}", f"out={tmp_path / place}", "data.path=no"
        )
        assert refused.code == 6, refused.err
    assert not (tmp_path / "none").exists()
    folder = run("evaluate", f"checkpoint={trained}", f"out={tmp_path}", "overwrite=true")
    assert (folder.code, "no regular file" in folder.err) == (6, True)
