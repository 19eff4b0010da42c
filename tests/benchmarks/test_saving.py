"""A save is measured whole."""

import re

from benchmarks import saving


def test_a_save_is_a_share_of_a_minute() -> None:
    line = saving.report(["model.num_layers=1", "model.hidden_size=16", "device=cpu"], rounds=2)
    assert re.fullmatch(r"0\.\d MB: \d+\.\d{3} s a save, \d+\.\d\d% of a minute", line)
