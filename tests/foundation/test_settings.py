"""A key's value is held to its type and range."""

import pytest

from seqkit.config import Config, TrainConfig
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import check_section, check_type


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
