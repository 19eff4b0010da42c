"""What is told of the data that a training learns from."""

import dataclasses

import numpy as np
import pytest

from seqkit.config import DataConfig
from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Corpus, Part
from seqkit.stages import read_corpus


def sound_of(*seconds: float) -> Corpus:
    """A corpus of files of so many seconds."""
    files = [np.zeros(round(8000 * length), np.uint8) for length in seconds]
    return Corpus(Part.of(*files), MuLaw(256, 8000), "a", "", whole_documents=True)


@pytest.mark.parametrize(
    ("seconds", "split", "told"),
    [
        ((4, 5, 6), (0.9, 0.1, 0.0), "0:06 of 0:15 of sound are kept for validation (40.0 %, data"),
        ((4, 5, 6), (1.0, 0.0, 0.0), ""),
        ((4, 5, 6), (0.6, 0.4, 0.0), ""),
        ((84, 13, 3), (0.9, 0.1, 0.0), "(16.0 %, data.split asks for 10 %), since whole files are"),
    ],
)
def test_a_validation_part_of_another_size_than_was_asked_for_is_told(
    seconds: tuple[float, ...], split: tuple[float, ...], told: str
) -> None:
    found = read_corpus.uneven_split(sound_of(*seconds), DataConfig(split=[*split]))
    assert told in found
    assert bool(told) == bool(found)


def test_a_data_set_with_a_part_of_its_own_is_split_as_it_asks() -> None:
    corpus = dataclasses.replace(sound_of(4, 5, 6), validation_start=9 * 8000)
    assert not read_corpus.uneven_split(corpus, DataConfig())
