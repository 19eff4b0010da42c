"""Emphasis is undone exactly, in pieces as in one, and chosen only where it lowers the noise."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.config import DataConfig
from seqkit.data.codecs import MuLaw, Quantiser
from seqkit.data.codecs.emphasis import CHOICES, emphasised, undone
from seqkit.data.load import Known, load_corpus
from seqkit.data.sound import Wave
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session

RATE = 8000
WHITE = np.random.default_rng(3).uniform(-0.2, 0.2, 30_000).astype(np.float32)
PARTS: dict[str, Wave] = {  # falling with frequency, flat, and rising
    "falling": (np.convolve(WHITE, 0.9 ** np.arange(60), "same") / 2).astype(np.float32),
    "flat": WHITE,
    "rising": np.diff(WHITE, prepend=np.float32(0)).astype(np.float32),
}


@pytest.mark.parametrize("share", CHOICES[1:])
def test_it_is_the_equation_and_its_inverse(share: float) -> None:
    frames = WHITE[:600].reshape(-1, 2)
    before = np.array([[0.3, -0.1]], np.float32)
    values = emphasised(frames, share, before)
    for t, x in enumerate(frames):
        expected = x - share * (frames[t - 1] if t else before[0])
        assert values[t] == pytest.approx(expected, abs=1e-6)
    wave = undone(values, share, before.astype(np.float64))
    assert wave == pytest.approx(frames, abs=1e-5)


@pytest.mark.parametrize("channels", [1, 2])
def test_pieces_are_the_whole(channels: int) -> None:
    codec = MuLaw(256, RATE, 1.5, channels, emphasis=0.85)
    frames = WHITE[:3000].reshape(-1, channels)
    whole = codec.encode(frames)
    emphasise, read = codec.analyser(), codec.reader()
    cuts = [0, 1, 2, 77, 78, 900, len(frames)]
    pieces = [frames[a:b] for a, b in pairwise(cuts)]
    assert np.array_equal(np.concatenate([codec.quantised(emphasise(p)) for p in pieces]), whole)
    encode = codec.encoder()
    assert np.array_equal(np.concatenate([encode(piece) for piece in pieces]), whole)
    cuts = [0, 1, 3, 500, 501, len(whole)]
    heard = np.concatenate([read(whole[a:b]) for a, b in pairwise(cuts)])
    assert np.array_equal(heard, codec.frames(whole))
    assert codec.frames(whole) == pytest.approx(frames, abs=0.05)


def read(wave: Wave, folder: Path, emphasis: str) -> tuple[Quantiser, float]:
    """The codec of a recording, and the signal to noise ratio of its quantising in decibels."""
    file = folder / "x.wav"
    soundfile.write(file, wave, RATE, subtype="FLOAT")
    config = DataConfig(kind="audio", path=[str(file)], gain="peak", emphasis=emphasis)
    corpus = load_corpus(config, Session(Catalogue(), lambda text: None), Known())
    codec = corpus.codec
    assert isinstance(codec, Quantiser)
    error = codec.decode(corpus.whole.symbols[:]) - wave
    return codec, 10 * np.log10(np.square(wave).sum() / np.square(error).sum())


@pytest.mark.parametrize(
    ("name", "least", "chosen"),
    [("falling", 2.0, (0.7, 0.85, 0.95)), ("flat", 0.0, (0.0,)), ("rising", 0.0, (0.0,))],
)
def test_the_one_of_least_noise_is_taken(
    name: str, least: float, chosen: tuple[float, ...], tmp_path: Path
) -> None:
    _, without = read(PARTS[name], tmp_path, "none")
    codec, ratio = read(PARTS[name], tmp_path, "auto")
    assert codec.emphasis in chosen
    assert ratio >= without + least
