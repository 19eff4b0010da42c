"""Parts: where a corpus is cut, and where documents begin."""

import numpy as np
import pytest

from seqkit.data.codecs import Bytes
from seqkit.data.corpus import Corpus, Part


def part(*lengths: int) -> Part:
    total = sum(lengths)
    starts = np.cumsum([0, *lengths[:-1]]).astype(np.int64)
    return Part(np.arange(total, dtype=np.uint16) + 100, starts)


@pytest.mark.parametrize(
    ("split", "sizes"),
    [
        ([0.9, 0.1, 0.0], (90, 11, 0)),
        ([1.0, 0.0, 0.0], (101, 0, 0)),
        ([0.5, 0.0, 0.5], (50, 0, 51)),
        ([0.6, 0.2, 0.2], (60, 20, 21)),
    ],
)
def test_a_corpus_is_split_by_position(split: list[float], sizes: tuple[int, ...]) -> None:
    corpus = Corpus(part(40, 61), Bytes(), "name", "0" * 64)
    parts = corpus.split(split)
    assert tuple(map(len, parts)) == sizes
    assert np.concatenate([p.symbols for p in parts]).tolist() == corpus.whole.symbols.tolist()
    for piece in parts:
        assert piece.starts[:1].tolist() == ([0] if len(piece) else [])
    assert parts[0].starts.tolist() == [0, 40]
