"""A stream ends after its text or with its document, however the symbols are cut into blocks."""

import numpy as np
import pytest

from seqkit.generation.ending import ENDED, Ending, cut, without_ended

ROWS = np.array([[1, 1, 2], [2, 0, 1], [1, 1, 1], [2, 2, 1], [3, 3, 3], [1, 1, 1], [2, 2, 2]])
"""Three streams in which 1 2 3 ends after 5, after 5 and never; 1 2 after 2, 4 and 7."""


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize(
    ("ending", "lengths"),
    [
        (Ending((1, 2, 3)), [5, 5, 7]),
        (Ending((1, 2)), [2, 4, 7]),
        (Ending((3,)), [5, 5, 5]),
        (Ending((3,), is_document=True), [4, 4, 4]),
        (Ending((0,), is_document=True), [7, 1, 7]),
        (Ending((9,)), [7, 7, 7]),
    ],
)
def test_each_stream_ends_by_itself(ending: Ending, lengths: list[int], size: int) -> None:
    whole = np.concatenate([*cut(iter(np.split(ROWS, range(size, 7, size))), ending, 3)])
    assert len(whole) == max(lengths)
    for found, made, length in zip(whole.T, ROWS.T, lengths, strict=True):
        assert without_ended(found).tolist() == made[:length].tolist()
        assert (found[length:] == ENDED).all()
