"""What of a text stands in the training data: every run of 50 symbols, and whole documents."""

from pathlib import Path

import numpy as np
import pytest

from seqkit.data.codecs import Bytes, Characters
from seqkit.data.corpus import Part
from seqkit.evaluation import recited
from seqkit.evaluation.recited import Index
from seqkit.symbols import Symbols

NOTHING: Symbols = np.zeros(0, np.uint8)


def noise(seed: int, count: int, size: int = 65) -> Symbols:
    return np.random.default_rng(seed).integers(0, size, count).astype(np.uint8)


def share(index: Index, *samples: Symbols, prompt: Symbols = NOTHING) -> float:
    said = index.recital([index.knows(sample, prompt) for sample in samples])
    return -1 if said is None else said.share


def test_every_run_of_fifty_symbols_is_found_and_no_shorter_one() -> None:
    data = noise(0, 3000)
    index = Index.of(Part.of(data), Bytes())
    for begin in (0, 1, 777, 2950):
        run = data[begin : begin + 50]
        sample = np.concatenate([noise(1, 30), run, noise(2, 70)])
        known = index.knows(sample, NOTHING)
        assert np.array_equal(known, [False] * 30 + [True] * 50 + [False] * 70)
        assert not index.knows(np.delete(sample, 55), NOTHING).any()
    said = index.recital([index.knows(x, NOTHING) for x in (data[40:160], noise(3, 80))])
    assert said is not None
    assert said[:2] == (0.6, 120)
    assert said.words.startswith("60 % of this text stands in the training data word for word")
    assert "(longest run 120 bytes)" in said.words
    said = index.recital([index.knows(noise(3, 80), NOTHING)])
    assert said is not None
    assert said.words.startswith("nothing of this text ")
    assert index.recital([index.knows(noise(3, 49), NOTHING)]) is None  # too short to say
    assert index.recital([]) is None


def test_of_much_text_longer_runs_are_found_and_the_index_stays_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recited, "_MOST", 100)
    data = noise(0, 1000)
    index = Index.of(Part.of(data), Bytes())
    assert len(index.kept["hashes"]) <= 100
    for begin in range(0, 900, 7):
        known = index.knows(data[begin : begin + 59], NOTHING)
        assert np.count_nonzero(known) >= 50
    said = index.recital([index.knows(noise(1, 100), NOTHING)])
    assert said is not None
    assert "a run of 59 symbols or more" in said.words


def test_a_short_sample_is_known_if_it_is_a_whole_document() -> None:
    codec = Characters("abcdefghijklmnopqrstuvwxyz", 0)
    names = [codec.encode(name) for name in ("emma", "olivia", "mia", "a")]
    index = Index.of(Part.of(*names), codec)
    for name in ("emma", "mia", "a"):
        assert share(index, codec.encode(name)) == 1
        assert share(index, codec.encode(name)[-1:], prompt=codec.encode(name[:-1])) == 1
    for name in ("emm", "mma", "emmaolivia", "b"):
        assert share(index, codec.encode(name)) == -1
        said = index.recital([index.knows(codec.encode(name), NOTHING)] * 20)
        assert said is not None
        assert said.words == "none of 20 samples is a copy of training data"
    samples = [index.knows(codec.encode(name), NOTHING) for name in ("emma", "mia", "zoe", "")]
    assert "2 of 4 samples are copies: 70 % of this text" in str(index.recital(samples))
    assert "1 of 3 samples is a copy: 57 % of this text" in str(
        index.recital([samples[0], samples[2], samples[3]])
    )
    assert share(index, codec.encode("emma"), codec.encode("zoes"), NOTHING) == 0.5
    assert index.knows(NOTHING, NOTHING).size == 0


def test_an_index_is_read_for_the_data_that_it_is_of_and_holds_none_of_it(tmp_path: Path) -> None:
    data = noise(0, 300)
    file, codec = tmp_path / "recited.safetensors", Bytes()
    content = Index.of(Part.of(data), codec).content("abc")
    assert data.tobytes()[:8] not in content
    file.write_bytes(content)
    index = Index.read(file, codec, "abc")
    assert index is not None
    assert share(index, data) == 1
    assert Index.read(file, codec, "abd") is None
    assert Index.read(file, codec, None) is None
    assert Index.read(tmp_path / "none", codec, "abc") is None
    file.write_bytes(content[: len(content) // 2])
    assert Index.read(file, codec, "abc") is None
