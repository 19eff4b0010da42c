"""A key's value is held to its type and range."""

import pytest

from seqkit.config import Config, TrainConfig
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import check_section


def test_a_section_is_checked_whole() -> None:
    check_section(Config())
    with pytest.raises(ConfigError, match=r"train\.batch_size=0: give a value of at least 1"):
        check_section(TrainConfig(batch_size=0), "train.")
    with pytest.raises(ConfigError, match=r"train\.clip_norm='a': expected float"):
        check_section(TrainConfig(clip_norm="a"), "train.")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="temperature=nan: give a finite number"):
        check_section(Config(temperature=float("nan")))
