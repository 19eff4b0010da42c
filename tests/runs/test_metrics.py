"""Of a damaged metrics.jsonl everything that is whole is read."""

import json
from pathlib import Path

from seqkit.runs.record import read_metrics

GOOD = '{"event": "train", "step": 10, "seconds": 2.5, "loss": 3.0, "gradient_norm": null}\n'


def test_what_is_whole_is_read_and_the_rest_is_counted(tmp_path: Path) -> None:
    damaged = [
        '{"event": "train", "step": 20, "loss": NaN}',
        '{"event": "train", "step": 20, "loss": 1e999}',
        '{"event": "train", "step": "20", "loss": 3}',
        '{"event": "train", "step": -1, "loss": 3}',
        '{"event": "validate", "step": 20}',
        f'{{"event": "train", "step": 1{"0" * 400}, "loss": 3}}',
        f'{{"event": "train", "step": 1{"0" * 5000}, "loss": 3}}',
        '{"event": ["train"], "step": 20, "loss": 3',
        "[1, 2]",
        "7",
        "[" * 60_000,
        "\x00\x1b]0;title\x07",
        '{"event": "train", "st',
    ]
    file = tmp_path / "metrics.jsonl"
    file.write_text(GOOD + "\n".join(damaged))
    problems = list[str]()
    found = read_metrics(file, problems)
    assert problems == [
        f"{file}: {len(damaged)} of {len(damaged) + 1} lines are damaged and left out"
    ]
    assert (found.step, found.seconds) == (10, 2.5)
    assert found.train["loss"].values.tolist() == [3.0]
    assert not len(found.train["gradient_norm"].steps)
    assert not len(found.validation.steps)


def test_the_losses_of_a_training_that_diverges_are_whole(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    huge = '{"event": "train", "step": 20, "loss": 4.3e18, "gradient_norm": 3.3e38}\n'
    validation = '{"event": "validate", "step": 20, "loss": 5.4e30, "bits_per_symbol": 7.8e30}\n'
    file.write_text(GOOD + huge + validation)
    found = read_metrics(file, problems := list[str]())
    assert problems == []
    assert found.train["loss"].values.tolist() == [3.0, 4.3e18]
    assert found.train["gradient_norm"].values.tolist() == [3.3e38]
    assert found.validation.values.tolist() == [5.4e30]


def test_a_line_of_megabytes_hides_nothing(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    file.write_bytes(
        GOOD.encode() + b'"' + 10_000_000 * b"<script>"[:8] + b"\xff\n" + GOOD.encode()
    )
    found = read_metrics(file, [])
    assert found.train["loss"].steps.tolist() == [10, 10]


def test_what_a_later_version_adds_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    file.write_text(GOOD + '{"event": "lunch", "step": 12}\n')
    assert read_metrics(file, problems := list[str]()).step == 10
    assert problems == []


def test_losses_over_other_symbols_than_the_last_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    lines = [(10, 1.0, 64), (20, 2.0, 128), (30, 1.9, 128)]
    file.write_text(
        "".join(
            f'{{"event": "validate", "step": {step}, "loss": {loss}, "scored": {scored}, '
            '"total": 256}\n'
            for step, loss, scored in lines
        )
    )
    found = read_metrics(file, [])
    assert found.validation.values.tolist() == [2.0, 1.9]
    assert (found.share, found.step) == (0.5, 30)


def test_losses_on_another_validation_part_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    lines = [(10, 1.0, {}), (20, 2.0, {"since": 10}), (30, 1.9, {"since": 10})]
    values = [{"event": "validate", "step": at, "loss": loss, **more} for at, loss, more in lines]
    file.write_text("".join(json.dumps(line) + "\n" for line in values))
    assert read_metrics(file, []).validation.values.tolist() == [2.0, 1.9]


def test_no_file_is_no_curve(tmp_path: Path) -> None:
    assert read_metrics(tmp_path / "metrics.jsonl", []).step == 0
