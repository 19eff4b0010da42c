"""A stream ends after its text or with its document, however the symbols are cut into blocks."""

import numpy as np
import pytest

from seqkit.config import Config, ModelConfig
from seqkit.data.codecs import Bytes, Characters, MuLaw
from seqkit.foundation.errors import ConfigError
from seqkit.generation.ending import (
    ENDED,
    Ending,
    cut,
    ending_of,
    without_ended,
)
from seqkit.generation.medium import medium_of

CODEC = Characters.from_text("abn\n\t\\")
MODEL = ModelConfig(vocabulary_size=7, ends=True)
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


@pytest.mark.parametrize(
    ("until", "text"),
    [("ab", "ab"), (r"\n\n", "\n\n"), (r"a\t\\n", "a\t\\n"), ("\n", "\n"), (r"\a", r"\a")],
)
def test_escapes_are_read_as_a_shell_hands_them_over(until: str, text: str) -> None:
    found = ending_of(Config(until=until), medium_of(CODEC), MODEL)
    assert found is not None
    assert CODEC.decode(found.symbols) == text


def test_bytes_end_at_a_text_too_and_documents_where_they_are_learnt() -> None:
    assert ending_of(Config(until="é"), medium_of(Bytes()), MODEL) == Ending((0xC3, 0xA9))
    assert ending_of(Config(until="document"), medium_of(CODEC), MODEL) == Ending(
        (6,), is_document=True
    )
    assert ending_of(Config(), medium_of(CODEC), MODEL) == Ending((6,), is_document=True)
    assert ending_of(Config(length=9), medium_of(CODEC), MODEL) is None
    assert ending_of(Config(), medium_of(CODEC), ModelConfig(vocabulary_size=6)) is None


@pytest.mark.parametrize(
    ("codec", "until", "words"),
    [
        (CODEC, "", "until is empty: give the text"),
        (CODEC, "aB", "'B' .* offset 1.* never saw"),
        (CODEC, "document", "train it with model.ends=true"),
        (MuLaw(256, 8000), "a", "give seconds, or until=document"),
    ],
)
def test_what_no_sample_ends_with_is_refused(
    codec: Characters | MuLaw, until: str, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        ending_of(Config(until=until), medium_of(codec), ModelConfig(vocabulary_size=6))
