"""The most surprising places are found, and named by their documents."""

import pytest

from seqkit.advice.surprise import located
from seqkit.data.codecs import Characters
from seqkit.data.corpus import Corpus, Part


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
