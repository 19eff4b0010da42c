"""Each dropped command and key is refused in one line, which names what to use instead."""

from pathlib import Path

import pytest

from seqkit.foundation import dropped
from tests.conftest import Run


@pytest.mark.parametrize("name", dropped.COMMANDS)
def test_a_dropped_command_names_what_to_use_instead(run: Run, name: str) -> None:
    assert dropped.COMMANDS[name] in run.fails_in_a_line(2, name, "checkpoint=shakespeare")


@pytest.mark.parametrize("name", dropped.KEYS)
def test_a_dropped_key_names_what_to_use_instead(run: Run, name: str) -> None:
    argument = name if "=" in name else f"{name}=1"
    assert dropped.KEYS[name] in run.fails_in_a_line(2, "recipe=toy_sentence", argument)


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("sample: {retry: 1}", "sample.retry"),
        ("search: {trials: 5}", "search"),
        ("sample: {engine: onnx}", "sample.engine=onnx"),
    ],
)
def test_a_recipe_is_told_of_a_dropped_key(
    run: Run, tmp_path: Path, content: str, key: str
) -> None:
    (tmp_path / "old.yaml").write_text(f"# @package _global_\n{content}\n")
    said = run.fails_in_a_line(2, f"--config-dir={tmp_path}", "recipe=old")
    assert f"{key}: that is gone: {dropped.KEYS[key]}" in said


def test_a_key_of_a_dropped_group_names_what_to_use_instead(run: Run) -> None:
    assert dropped.KEYS["search"] in run.fails_in_a_line(2, "recipe=toy_sentence", "search.kind=x")
