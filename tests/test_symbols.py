"""Draws are functions of their counters."""

import numpy as np
import pytest

from seqkit.symbols import uniforms, uniforms_of_streams


def test_draws_are_philox_4x64_10() -> None:
    # The first block for the key (5, 2) and counter 0, from an independent scalar computation.
    def mulhilo(a: int, b: int) -> tuple[int, int]:
        return divmod(a * b, 2**64)

    counter, key = [0, 0, 0, 0], [5, 2]
    for _ in range(10):
        high0, low0 = mulhilo(0xD2E7470EE14C6C93, counter[0])
        high1, low1 = mulhilo(0xCA5A826395121157, counter[2])
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0]
        key = [(key[0] + 0x9E3779B97F4A7C15) % 2**64, (key[1] + 0xBB67AE8584CAA73B) % 2**64]
    expected = [(word >> 11) * 2.0**-53 for word in counter]
    assert uniforms(5, 2, 0, 4).tolist() == expected


@pytest.mark.parametrize(("position", "count"), [(0, 1), (1, 7), (3, 4), (5, 11), (16, 3)])
def test_a_draw_depends_on_its_position_alone(position: int, count: int) -> None:
    whole = uniforms(7, 3, 0, 30)
    assert (uniforms(7, 3, position, count) == whole[position : position + count]).all()


@pytest.mark.parametrize(
    ("seed", "position", "count"),
    [(5, 0, 1), (2**63 - 7, 3, 9), (0, 10**12, 128), (7, 5, 2), (1, 2, 130)],
)
@pytest.mark.parametrize("streams", [1, 63, 64, 300])
def test_draws_of_many_streams_are_those_of_each(
    streams: int, seed: int, position: int, count: int
) -> None:
    found = uniforms_of_streams(seed, range(streams), position, count)
    assert found.shape == (count, streams)
    each = [uniforms(seed, stream, position, count) for stream in range(streams)]
    assert (found == np.stack(each, axis=1)).all()
