"""A cell that follows something is found, and what it follows is what stands in the text."""

import numpy as np
import torch

from seqkit.config import ModelConfig
from seqkit.data.codecs import Characters
from seqkit.data.corpus import Part
from seqkit.evaluation import cell_search
from seqkit.evaluation.scoring import Scored
from seqkit.evaluation.surprise import Cell
from seqkit.model.char_rnn import CharRNN

TEXT = 'a "bc" (d (e) f)\n  g\n\n"h\n\ni'


def of(text: str) -> "dict[str, np.ndarray[tuple[int], np.dtype[np.float32]]]":
    codec = Characters.from_text(text)
    found = cell_search.traits_of_text(list(codec.vocabulary), codec.encode(text), np.array([0]))
    return {name: np.asarray(values) for name, values in found.items()}


def test_traits_are_those_before_each_symbol() -> None:
    found = of(TEXT)
    inside = "".join(c if q else "." for c, q in zip(TEXT, found["quotes"], strict=True))
    assert inside == '...bc"' + "." * 17 + "h\n\n" + "."
    assert found["brackets"][:18].tolist() == [*[0] * 8, 1, 1, 1, 2, 2, 1, 1, 1, 0, 0]
    assert found["place in the line"][17:23].tolist() == [0, 1, 2, 3, 0, 0]
    assert found["indentation"][17:22].tolist() == [0, 1, 2, 2, 0]
    assert found["length of the line"][17:23].tolist() == [4, 4, 4, 4, 1, 3]


def test_sound_is_voiced_or_silent() -> None:
    rate = 8000
    time = np.arange(rate) / rate
    voice = 0.5 * np.sign(np.sin(2 * np.pi * 120 * time))
    noise = np.random.default_rng(1).uniform(-0.5, 0.5, rate)
    wave = np.concatenate([voice, noise, np.zeros(rate), voice[:10]]).astype(np.float32)
    found = cell_search.traits_of_sound(wave, rate)
    assert {len(values) for values in found.values()} == {len(wave)}
    for second, (voiced, silent) in enumerate([(1, 0), (0, 0), (0, 1)]):
        inner = slice(second * rate + 200, (second + 1) * rate - 200)
        assert abs(found["voiced"][inner].mean() - voiced) < 0.1
        assert found["silent"][inner].mean() == silent


def test_a_cell_that_remembers_a_bracket_is_found() -> None:
    text = "ab(ba)" * 40  # no more than one segment, before which nothing is forgotten
    codec = Characters.from_text(text)
    model = CharRNN(
        ModelConfig(num_layers=2, hidden_size=5, vocabulary_size=codec.size),
        torch.Generator().manual_seed(1),
    )
    part = Part.of(codec.encode(text))
    bottom = model.layers[0]
    with torch.no_grad():  # cell 3 of the bottom layer: up at "(", down at ")", else as it was
        w, u = bottom.weight_ih_l0, bottom.weight_hh_l0
        for values in (w, u, bottom.bias_ih_l0, bottom.bias_hh_l0):
            values[3::5] = 0.0  # type: ignore[operator]
        bottom.bias_ih_l0[5 + 3] = 8.0  # type: ignore[operator]
        bottom.bias_ih_l0[3] = 8.0  # type: ignore[operator]
        w[10 + 3, codec.encode("(")[0]] = 8.0  # type: ignore[operator]
        w[10 + 3, codec.encode(")")[0]] = -8.0  # type: ignore[operator]
    found = cell_search.traits_of_text(list(codec.vocabulary), part.symbols[:], part.starts)
    watched: list[int] = []
    given = {"brackets": found["brackets"]}
    best = cell_search.search(Scored(model, part, codec.start, watched.append), given)[0]
    assert best.cell == Cell(0, 3)
    assert best.correlation > 0.9
    assert watched[-1] == len(part)
    assert cell_search.search(Scored(model, part, codec.start), {}) == []
