"""A corpus is found, read as what it is, encoded once."""

from pathlib import Path
from typing import Any

import pytest

from seqkit.data.codecs import Bytes, Characters, Codec, MuLaw
from seqkit.foundation.errors import ConfigError, DataError
from tests.conftest import Write
from tests.data.conftest import WORDS, load


def test_what_a_file_holds_tells_how_it_is_read(text: Path, sound: Path) -> None:
    assert load(text).codec.name == "characters"
    assert load(sound).codec.name == "mu_law"


@pytest.mark.parametrize(
    ("codec", "settings", "said"),
    [
        (None, {"codec": "none"}, "no codec named none"),
        (
            None,
            {"codec": "linear", "kind": "text"},
            r"data\.codec=linear reads sound.*asks for text",
        ),
        (None, {"codec": "characters", "kind": "audio"}, "reads text.*asks for sound"),
        (Characters("ab", 0), {"kind": "bytes"}, r"data\.kind=bytes: the checkpoint reads text"),
        (Bytes(), {"kind": "text"}, r"data\.kind=text: the checkpoint reads bytes"),
        (Bytes(), {"kind": "audio"}, "the checkpoint reads bytes.*asks for sound"),
        (MuLaw(16, 4000), {"kind": "text"}, "the checkpoint reads sound.*asks for text"),
        (
            MuLaw(16, 4000),
            {"codec": "linear"},
            "data.codec=linear, .* trained with mu_law",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    codec: Codec | None, settings: dict[str, Any], said: str, text: Path
) -> None:
    with pytest.raises(ConfigError, match=said):
        load(text, codec, **settings)


def test_another_quantiser_than_the_trainings_is_refused(sound: Path) -> None:
    codec = load(sound).codec
    load(sound, codec)
    for key, asked, was in (("sample_rate", 100, 4000), ("levels", 9, 256)):
        other: dict[str, Any] = {key: asked}
        with pytest.raises(ConfigError, match=rf"data\.{key}={asked}, .* has {was}: give data"):
            load(sound, codec, **other)


def test_several_paths_are_one_text(text: Path, tmp_path: Path) -> None:
    folder = tmp_path / "songs"
    folder.mkdir()
    (folder / "song.txt").write_text("rye\n")
    (tmp_path / "other.txt").write_text("of\n")
    paths = [folder, text, tmp_path / "other.txt"]
    corpus = load(paths)
    assert corpus.codec.decode(corpus.whole.symbols) == "rye\n" + WORDS * 5 + "of\n"
    assert corpus.whole.starts.tolist() == [0, 4, 124]
    assert corpus.name == "songs and 2 more"
    assert corpus.bytes == 127
    assert load(paths).sha256 == corpus.sha256 != load(paths[::-1]).sha256
    with pytest.raises(DataError, match="none: cannot be read: no such file"):
        load([text, tmp_path / "none"])


@pytest.mark.parametrize("unknown", ["error", "skip"])
def test_files_are_parts_by_their_names(unknown: str, tmp_path: Path) -> None:
    for name, content in (("a.test", "de"), ("b.train", "ab\n"), ("c.valid", "_cc")):
        (tmp_path / name).write_text(content)
    keys: dict[str, Any] = {"unknown": unknown, "pattern": "?.*"}
    corpus = load(tmp_path, None, None, validation="*valid", test="*.test", **keys)
    texts = [corpus.codec.decode(part.symbols) for part in corpus.split([0.8, 0.1, 0.1])]
    assert texts == ["ab\n", "_cc", "de"]
    assert corpus.skipped == 0
    paths = [tmp_path / name for name in ("c.valid", "b.train")]
    corpus = load(paths, validation="c.*")
    assert corpus.codec.decode(corpus.split([0.5, 0.0, 0.5])[1].symbols) == "_cc"
    with pytest.raises(
        DataError, match=r"no file matches \*\.test, the test part of c\.valid and 1"
    ):
        load(paths, test="*.test")


FAULTY = """
import numpy as np
from seqkit.data.codecs import Characters

class Faulty(Characters):
    name = "faulty"
    {body}

CODECS = {{"faulty": Faulty}}
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("fit = classmethod(lambda cls, pieces, most=0: 1 / 0)", "its fit failed: ZeroDivision"),
        ("def encode(self, *_): return {}['x']", "its encode failed: KeyError: 'x'"),
        ("def encode(self, *_): return np.full(5, 99)", "gave a symbol outside its 13"),
        ("def to_spec(self): return {1, 2}", "its to_spec failed: TypeError"),
        ("start = 99", "its start, 99, is none of its 13 symbols"),
    ],
)
def test_a_codec_that_fails_is_named(body: str, said: str, text: Path, write: Write) -> None:
    write("faulty_codecs.py", FAULTY.format(body=body))
    with pytest.raises(DataError, match=said):
        load(text, plugins=("faulty_codecs",), codec="faulty")
