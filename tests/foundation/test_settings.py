"""A key's value is held to its type and range."""

import numpy as np
import pytest

from seqkit.config import Config, TrainConfig
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import check_list, check_section, check_type, check_whole_number


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        *[(3, int), (np.int64(3), int), (3, float), (0.5, float), (True, bool), ("a", str)],
        *[(None, int | None), ("a", str | None), ([0.5, 1], list[float]), ([], list[str])],
    ],
)
def test_values_of_the_right_type_pass(value: object, wanted: object) -> None:
    check_type("key", value, wanted)


@pytest.mark.parametrize(
    ("value", "wanted", "words"),
    [
        (0.5, int, "key=0.5: expected int, got float"),
        (True, int, "expected int, got bool"),
        ("3", int | None, r"key='3': expected int \| None, got str"),
        (None, str, "expected str, got NoneType"),
        (b"a", str, "got bytes"),
        ([0.5, "a"], list[float], "key='a': expected float, got str"),
        (0.5, list[float], r"expected list\[float\], got float"),
    ],
)
def test_others_are_refused_by_name(value: object, wanted: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        check_type("key", value, wanted)


def test_a_section_is_checked_whole() -> None:
    check_section(Config())
    with pytest.raises(ConfigError, match=r"train\.batch_size=0: give a value of at least 1"):
        check_section(TrainConfig(batch_size=0), "train.")
    with pytest.raises(ConfigError, match=r"train\.clip_norm='a': expected float"):
        check_section(TrainConfig(clip_norm="a"), "train.")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="temperature=nan: give a finite number"):
        check_section(Config(temperature=float("nan")))


def test_a_list_is_no_bare_text() -> None:
    check_list("names", ["a", "b"], str)
    check_list("names", (), str)
    for given, said in (
        ("ab", "names='ab': expected a list, got str"),
        (5, "names=5: expected a list, got int"),
        ([5], "names=5: expected str, got int"),
    ):
        with pytest.raises(ConfigError, match=said):
            check_list("names", given, str)


def test_a_whole_number_is_large_enough() -> None:
    check_whole_number("size", 3, 3)
    for given in (2, 3.0, "3", True):
        with pytest.raises(ConfigError, match="size="):
            check_whole_number("size", given, 3)
