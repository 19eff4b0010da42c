"""A picture of sound is a PNG."""

from pathlib import Path

import numpy as np

from seqkit.data.sound import pictures


def test_waves_are_drawn_side_by_side(tmp_path: Path) -> None:
    wave = np.random.default_rng(1).uniform(-1, 1, 9001).astype(np.float32)
    sizes = []
    for waves in ({"a": wave}, {"a": wave, "b": wave[:300]}):
        pictures.draw(tmp_path / "a.png", waves, 8000)
        content = (tmp_path / "a.png").read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        sizes.append(int.from_bytes(content[16:20], "big"))
    assert abs(sizes[1] - 2 * sizes[0]) <= 1
