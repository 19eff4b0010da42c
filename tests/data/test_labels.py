"""Labels of documents, found in the names of files."""

from pathlib import Path

import numpy as np
import pytest

from seqkit.data import labels
from seqkit.data.file_search import matches
from seqkit.foundation.errors import ConfigError, DataError
from tests.data.conftest import load

NAMES = ["3_ann_0.wav", "7_bob_0.wav", "7_ann_1.wav"]
BOTH = r"(?P<digit>\d)_(?P<speaker>[a-z]+)"


def test_named_groups_give_several_labels() -> None:
    found, of_documents = labels.of_files(BOTH, NAMES, [1, 1, 1])
    assert found.values == {"digit": ["3", "7"], "speaker": ["ann", "bob"]}
    assert of_documents.tolist() == [[1, 1], [2, 2], [2, 1]]
    assert [found.describe(own) for own in of_documents] == [
        "digit:3,speaker:ann",
        "digit:7,speaker:bob",
        "digit:7,speaker:ann",
    ]


def test_all_documents_of_a_file_have_its_label() -> None:
    names = ["b/x.txt", "a/sub/y.txt", "a/z.txt"]
    found, of_documents = labels.of_files("folder", names, [2, 1, 3])
    assert [found.describe(own) for own in of_documents] == ["b", "b", "sub", "a", "a", "a"]
    assert found.combinations == [(1,), (2,), (3,)]


def test_letters_are_compared_composed() -> None:
    found, _ = labels.of_files("folder", ["zoe\u0308/1", "zo\u00eb/2"], [1, 1])
    assert found.values == {"label": ["zo\u00eb"]}
    assert matches("zoe\u0308.txt", "zo\u00eb*") and matches("zo\u00eb.txt", "zoe\u0308*")


def test_known_labels_keep_their_places_and_there_are_no_others() -> None:
    known, _ = labels.of_files("folder", ["m/1", "z/1"], [1, 1])
    found, of_documents = labels.of_files("folder", ["z/1", "z/2"], [1, 1], known)
    assert found.values == known.values and of_documents.tolist() == [[2], [2]]
    with pytest.raises(DataError, match="does not know the label zz: did you mean z"):
        labels.of_files("folder", ["zz/1", "z/1"], [1, 1], known)


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        (
            "folder",
            DataError,
            "3 files of 3 have no folder within data.path, the first is 3_ann_0.wav: give",
        ),
        (r"_(bob)_", DataError, "2 files of 3 have no label, or an empty one, the first is 3_ann"),
        (r"_(x*)", DataError, "3 files of 3"),
        (r"(\d)_([a-z]+)", ConfigError, "2 groups in it"),
        (r"\d", ConfigError, "0 groups in it"),
        (r"(", ConfigError, "no regular expression"),
    ],
)
def test_what_gives_no_labels_is_refused(asked: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        labels.of_files(asked, NAMES, [1, 1, 1])


def test_other_groups_than_the_known_ones_are_refused() -> None:
    known, _ = labels.of_files(BOTH, NAMES, [1, 1, 1])
    with pytest.raises(ConfigError, match="knows digit, speaker"):
        labels.of_files(r"_(?P<who>[a-z]+)", NAMES, [1, 1, 1], known)


def test_a_split_takes_some_of_every_label(tmp_path: Path) -> None:
    for name, letter in (("a", "p"), ("b", "q"), ("c", "r")):
        (tmp_path / name).mkdir()
        for number in range(2):
            (tmp_path / name / f"{number}.txt").write_text(letter * 50)
    corpus = load(tmp_path, label="folder", pattern="*.txt")
    assert corpus.labels is not None
    parts = corpus.split([0.8, 0.1, 0.1])
    assert [len(part) for part in parts] == [240, 30, 30]
    for part in parts:
        known = part.labels_at(np.arange(len(part)))
        assert known is not None
        letters = corpus.codec.decode(part.symbols)
        said = [corpus.labels.describe(tuple(own)) for own in known.tolist()]
        assert {*said} == {"a", "b", "c"}
        assert all(own == "abc"["pqr".index(x)] for own, x in zip(said, letters, strict=True))
