"""What recipes compute of other keys follows these keys, and leaves nothing behind."""

import pytest
from omegaconf import OmegaConf

from seqkit.config import Config
from tests.compose.conftest import composed


def counts(config: Config) -> tuple[int, int, int]:
    return config.data.sample_rate, config.model.lookback, config.train.sequence_length


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["data.sample_rate=8000"], (8000, 80, 128)),
        ([], (32000, 80, 512)),
        (["data.sample_rate=32000", "data.bands=1"], (32000, 640, 512)),
        (["data.sample_rate=32000", "data.channels=2"], (32000, 80, 1024)),
        (["data.sample_rate=44100"], (44100, 882, 706)),
        (["data.sample_rate=22050"], (22050, 441, 353)),
        (["data.sample_rate=16000", "model.lookback=0"], (16000, 0, 256)),
        (["data.sample_rate=0"], (0, 80, 128)),
    ],
)
def test_keys_counted_in_time_follow_the_rate_and_the_frames(
    words: list[str], expected: tuple[int, int, int]
) -> None:
    assert counts(composed(["recipe=my_sound", *words], [])) == expected


def test_an_application_keeps_its_own_resolvers() -> None:
    composed(["recipe=my_sound"], [])
    assert not OmegaConf.has_resolver("seqkit.frames")
