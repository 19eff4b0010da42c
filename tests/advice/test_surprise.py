"""The most surprising places are found, and named by their documents."""

import numpy as np
import pytest

from seqkit.advice.surprise import highest, located
from seqkit.data.codecs import Characters
from seqkit.data.corpus import Corpus, Part


@pytest.mark.parametrize("length", [1, 7, 100, 1000])
def test_the_highest_are_kept_in_order_and_apart(length: int) -> None:
    values = np.random.default_rng(1).permutation(1000).astype(np.float32)
    values[501] = 2000
    values[502] = 1999  # next to the highest
    found = list[tuple[int, float]]()
    for begin in range(0, 1000, length):
        found = highest(found, begin, values[begin : begin + length], 10)
    assert [value for _, value in found] == sorted((value for _, value in found), reverse=True)
    assert found[0][0] == 501
    where = sorted(place for place, _ in found)
    assert len(where) == 20
    assert min(np.diff(where)) >= 10
    assert min(value for _, value in found) > 900


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_places_in_a_part_are_those_in_the_file(share: float) -> None:
    texts = ["one", "x", "long " * 50]
    codec = Characters.from_text("".join(texts))
    whole = Part.of(*map(codec.encode, texts))
    names = ["a.txt", "b.txt", "c.txt"]
    expected = [(names[n], at) for n, text in enumerate(texts) for at in range(len(text))]
    assert [located(whole, names, place) for place in range(len(whole))] == expected
    first, second, _ = Corpus(whole, codec, "text", "").split([share, 1 - share, 0.0])
    found = [located(second, names, place) for place in range(len(second))]
    assert found == expected[len(first) :]
    assert located(second, [], len(second) - 1)[0] == "document 3"
