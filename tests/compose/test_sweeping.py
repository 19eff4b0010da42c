"""What a sweep's command line stands for."""

import pytest

from seqkit import compose
from seqkit.foundation.errors import ConfigError


def test_every_combination_is_a_run_and_so_is_each_path() -> None:
    words = ["recipe=shakespeare", "model.num_layers=1,2", "data.split=[1,0,0],[0.8,0.2,0]"]
    lines, own = compose.sweep([*words, "jobs=2", "data.path=a,b.txt", "data.path=c"])
    assert (len(lines), own) == (8, ["jobs=2"])
    assert [*words[:1], "model.num_layers=2", "data.split=[1,0,0]", "data.path=a,b.txt"] in lines
    assert [*words[:1], "model.num_layers=1", "data.split=[0.8,0.2,0]", "data.path=c"] in lines
    with pytest.raises(ConfigError, match="comma without a value"):
        compose.sweep(["seed=1,,2"])
