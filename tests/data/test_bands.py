"""Sound in bands: it comes back, in pieces as in one, and empty bands cost nothing."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.config import BANDS, DataConfig
from seqkit.data import codecs
from seqkit.data.codecs import MuLaw, Quantiser
from seqkit.data.corpus import Corpus
from seqkit.data.load import Known, load_corpus
from seqkit.data.sound import Frames, Wave
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.session import Session

RATE = 84_000  # which all numbers of bands divide
ALL = BANDS


def frames(count: int = 5003, channels: int = 1) -> Frames:
    draw = np.random.default_rng(1)
    return draw.uniform(-0.2, 0.2, (count, channels)).astype(np.float32)


def ratio(signal: Frames, made: Frames, late: int) -> float:
    """Signal to noise in decibels, where what was made comes so many samples later."""
    signal, made = signal[: len(signal) - late], made[late : len(signal)]
    return float(10 * np.log10(np.square(signal).sum() / np.square(made - signal).sum()))


@pytest.mark.parametrize("bands", ALL)
@pytest.mark.parametrize("channels", [1, 2])
def test_symbols_are_as_near_as_without_bands(bands: int, channels: int) -> None:
    wave = frames(channels=channels)
    codec = MuLaw(256, RATE, 1.0, channels, bands=bands)
    symbols = codec.encode(wave)
    assert codec.phases == bands * channels
    assert codec.symbol_rate == channels * RATE
    assert len(symbols) == -(-len(wave) // bands) * codec.phases
    assert codec.along(symbols).shape == symbols.shape
    assert ratio(wave, codec.frames(symbols), codec.delay) > 37
    again = codecs.from_spec(codec.to_spec(), Catalogue())
    assert isinstance(again, Quantiser)
    assert np.array_equal(again.encode(wave), symbols)
    values = codec.values_of(symbols)
    assert values.shape == (len(symbols) // codec.phases, bands * channels)
    assert np.array_equal(codec.quantised(values), symbols)


@pytest.mark.parametrize("bands", ALL)
@pytest.mark.parametrize("channels", [1, 2])
def test_pieces_cut_anywhere_are_the_whole(bands: int, channels: int) -> None:
    wave = frames(channels=channels)
    codec = MuLaw(1000, RATE, 1.5, channels, bands=bands)
    if bands > 1:
        codec = MuLaw(
            1000, RATE, 1.5, channels, bands=bands,
            band_gains=[1.0, *[3.0] * (bands * channels - 1)],
                band_emphases=[*[0.0] * (bands * channels - 1), 0.85],
                band_angles=[0.3] * bands if channels > 1 else (),
        )  # fmt: skip
    whole, encode, read = codec.encode(wave), codec.encoder(), codec.reader()
    pieces = [wave[a:b] for a, b in pairwise([0, 1, 2, 2, 77, 78, 900, len(wave)])]
    assert np.array_equal(np.concatenate([encode(p) for p in codec.padded(pieces)]), whole)
    cuts = [0, 1, 3, 500, 501, len(whole)]
    heard = np.concatenate([read(whole[a:b]) for a, b in pairwise(cuts)])
    assert np.array_equal(heard, codec.frames(whole))


def test_a_rate_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"44100 Hz: 4 bands .* data\.sample_rate=44000 or 44400"):
        MuLaw(256, 44_100, bands=4)
    with pytest.raises(ConfigError, match=r"44100 Hz: 4 bands .* data\.bands=1"):
        read(frames(), tmp_path, 44_100, bands="4")


def read(
    wave: Frames,
    folder: Path,
    rate: int,
    *,
    bands: str,
    gain: str = "peak",
    channels: int = 1,
    emphasis: str = "none",
) -> Corpus:
    """The corpus of a recording."""
    file = folder / "x.wav"
    soundfile.write(file, wave, rate, subtype="FLOAT")
    config = DataConfig(
        kind="audio", path=[str(file)], gain=gain, bands=bands, channels=channels,
        emphasis=emphasis,
        sample_rate=0 if rate > 8000 else 32_000,
    )  # fmt: skip
    return load_corpus(config, Session(Catalogue(), lambda text: None), Known())


def bits(corpus: Corpus) -> list[float]:
    """The entropy of the symbols at each place of a frame."""
    assert isinstance(corpus.codec, Quantiser)
    rows = corpus.whole.symbols[:].reshape(-1, corpus.codec.phases).T
    shares = [np.unique_counts(row).counts / len(row) for row in rows]
    return [float(-(share * np.log2(share)).sum()) for share in shares]


def coloured(count: int) -> Wave:
    white = np.random.default_rng(2).standard_normal(count)
    return (np.convolve(white, 0.95 ** np.arange(99), "same") / 20).astype(np.float32)


@pytest.mark.parametrize("gain", ["peak", "rms"])
def test_each_band_has_its_own_gain(gain: str, tmp_path: Path) -> None:
    wave = coloured(64_000)[:, None]
    corpus = read(wave, tmp_path, 32_000, bands="4", gain=gain)
    codec = corpus.codec
    assert isinstance(codec, Quantiser)
    assert codec.band_gains == tuple(sorted(codec.band_gains))
    sizes = np.abs(codec.scaled(codec.analysed(wave)))
    found = sizes.max(0) if gain == "peak" else np.sqrt(np.square(sizes).mean(0)) / 0.1
    assert found == pytest.approx(np.ones(4), rel=0.01)
    assert corpus.snr is not None
    assert corpus.snr > 36


def test_a_telephone_has_only_its_own_bands(tmp_path: Path) -> None:
    corpus = read(coloured(16_000)[:, None], tmp_path, 8000, bands="auto")
    assert isinstance(corpus.codec, Quantiser)
    assert corpus.codec.bands == 8
    assert corpus.codec.used.tolist() == [0, 1, 2]  # the filters of the third reach into the second
    assert min(bits(corpus)[:2]) > 5
    assert corpus.codec.symbol_rate == 3 * 32_000 / 8
    assert corpus.snr is not None
    assert corpus.snr > 36


@pytest.mark.parametrize("shares", [(1.0, 1.0), (0.9, -0.4), (1.0, -1.0), (0.2, 0.8)])
def test_sound_from_one_direction_costs_what_mono_does(
    shares: tuple[float, float], tmp_path: Path
) -> None:
    both = coloured(64_000)[:, None] * np.array(shares, np.float32)
    corpus = read(both, tmp_path, 32_000, bands="8", channels=2)
    assert isinstance(corpus.codec, Quantiser)
    assert corpus.codec.phases == 8
    assert corpus.snr is not None
    assert corpus.snr > 36


@pytest.mark.parametrize(
    ("rate", "bands"), [(8000, 2), (16_000, 4), (24_000, 4), (44_100, 1), (48_000, 8)]
)
def test_auto_takes_a_band_for_every_4_khz(rate: int, bands: int, tmp_path: Path) -> None:
    file = tmp_path / "x.wav"
    soundfile.write(file, frames(), rate)
    config = DataConfig(kind="audio", path=[str(file)], bands="auto")
    codec = load_corpus(config, Session(Catalogue(), lambda text: None), Known()).codec
    assert isinstance(codec, Quantiser)
    assert codec.bands == bands
    known = Known(codec)
    load_corpus(config, Session(Catalogue(), lambda text: None), known)
    other = 4 if bands == 8 else 8
    with pytest.raises(ConfigError, match=rf"data\.bands={other}: .* trained with {bands}"):
        load_corpus(
            DataConfig(kind="audio", path=[str(file)], bands=str(other)),
            Session(Catalogue(), lambda text: None),
            known,
        )
