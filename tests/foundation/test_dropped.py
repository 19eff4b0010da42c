"""Each dropped command and key is refused in one line, which names what to use instead."""

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


def test_a_key_of_a_dropped_group_names_what_to_use_instead(run: Run) -> None:
    assert dropped.KEYS["search"] in run.fails_in_a_line(2, "recipe=toy_sentence", "search.kind=x")
