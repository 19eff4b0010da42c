"""Any bytes at all become symbols and bytes beside them, and come back."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqkit.compression import contents
from seqkit.compression.contents import Runs
from seqkit.data.codecs import Bytes, Characters, TextCodec
from seqkit.foundation.errors import DataError

CODECS: list[TextCodec] = [
    Bytes(),
    Characters.from_text("ab \nA€é"),
    Characters("\né\ud800\udc80", 0),  # with surrogates, which bytes that are no UTF-8 become
    Characters.from_text("x"),
]
texts = st.text("ab \r\n\0\ufeffA€é𝄞x", max_size=40).map(str.encode)
SAMPLES = [
    *(b"", b"a", b"\0", b"\xff", b"\xc3", b"a\r\nb\r\n", b"\xef\xbb\xbfa", b"\0" * 100),
    "𝄞€é".encode(),
    b"a\xe2\x82b\xac\xed\xa0\x80\xed\xb2\x80a",
    bytes(range(256)),
]


def there_and_back(codec: TextCodec, pieces: list[bytes]) -> bytes:
    blocks = list(contents.cut(codec, pieces, 1))
    assert b"".join(block.content for block in blocks) == b"".join(pieces)
    return b"".join(contents.join(codec, own.symbols, own.beside) for own in blocks)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("content", SAMPLES)
def test_real_cases_come_back(codec: TextCodec, content: bytes) -> None:
    assert there_and_back(codec, [content]) == content


@given(st.sampled_from(CODECS), st.lists(st.one_of(st.binary(max_size=20), texts), max_size=3))
def test_any_bytes_come_back_wherever_they_are_cut(codec: TextCodec, pieces: list[bytes]) -> None:
    assert there_and_back(codec, pieces) == b"".join(pieces)


def test_a_file_of_several_blocks_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "BLOCK", 7)
    content = "ab€ é\r\n𝄞 ba\n".encode() * 20 + b"\xff\xfe"
    for codec in CODECS:
        assert there_and_back(codec, [content[:31], content[31:]]) == content
    blocks = list(contents.cut(CODECS[1], [content], 1))
    assert max(len(block.symbols) for block in blocks) <= 7


def test_runs_outside_of_the_symbols_are_refused() -> None:
    packed = contents.pack(Runs(np.array([3]), np.array([1]), b"x"))
    with pytest.raises(DataError, match="damaged"):
        contents.join(CODECS[1], np.zeros(2, np.uint8), packed)


@given(st.binary(max_size=60))
def test_bytes_that_are_no_runs_are_refused_or_runs(packed: bytes) -> None:
    with contextlib.suppress(DataError):
        assert isinstance(contents.join(CODECS[1], np.zeros(2, np.uint8), packed), bytes)
