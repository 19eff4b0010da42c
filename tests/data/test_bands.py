"""Sound in bands: it comes back, in pieces as in one, and empty bands cost nothing."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.config import BANDS, DataConfig
from seqkit.data import codecs
from seqkit.data.codecs import Linear, MuLaw, Quantiser
from seqkit.data.codecs.filter_bank import delay_of, joiner, splitter
from seqkit.data.corpus import Corpus, Part
from seqkit.data.load import Known, load_corpus
from seqkit.data.sound import Frames, Wave
from seqkit.data.sound.part import SoundPart
from seqkit.data.sound.silence import without_silence
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.session import Session

RATE = 84_000  # which all numbers of bands divide
SHAPES = [(1, 1), (2, 1), (1, 2), (2, 2)]
ALL = BANDS


def frames(count: int = 5003, channels: int = 1) -> Frames:
    draw = np.random.default_rng(1)
    return draw.uniform(-0.2, 0.2, (count, channels)).astype(np.float32)


def ratio(signal: Frames, made: Frames, late: int) -> float:
    """Signal to noise in decibels, where what was made comes so many samples later."""
    signal, made = signal[: len(signal) - late], made[late : len(signal)]
    return float(10 * np.log10(np.square(signal).sum() / np.square(made - signal).sum()))


@pytest.mark.parametrize("bands", ALL[1:])
def test_what_is_split_is_joined_again(bands: int) -> None:
    wave = frames(bands * 1000, 2)
    rows = splitter(bands, 2)(wave)
    assert rows.shape == (1000, bands, 2)
    assert ratio(wave, joiner(bands, 2)(rows), delay_of(bands)) > 60


@pytest.mark.parametrize("bands", ALL[1:])
@pytest.mark.parametrize("place", [0.02, 0.31, 0.77, 0.98])
def test_a_tone_is_in_its_band(bands: int, place: float) -> None:
    tone = np.cos(np.pi * place * np.arange(bands * 2000, dtype=np.float32))[:, None]
    powers = np.square(splitter(bands, 1)(tone))[100:, :, 0].mean(0)
    at = place * bands
    assert np.argmax(powers) == int(at)
    far = np.abs(np.arange(bands) + 0.5 - at) > 1.5
    assert (powers[far] < 1e-6 * powers.max()).all()


@pytest.mark.parametrize("bands", ALL)
@pytest.mark.parametrize(("channels", "digits"), SHAPES)
def test_symbols_are_as_near_as_without_bands(bands: int, channels: int, digits: int) -> None:
    wave, levels = frames(channels=channels), 256 if digits == 1 else 65536
    codec = MuLaw(levels, RATE, 1.0, channels, digits, bands=bands)
    symbols = codec.encode(wave)
    assert codec.phases == bands * channels * digits
    assert codec.symbol_rate == channels * digits * RATE
    assert len(symbols) == -(-len(wave) // bands) * codec.phases
    assert codec.along(symbols).shape == symbols.shape
    assert ratio(wave, codec.frames(symbols), codec.delay) > (37 if digits == 1 else 60)
    again = codecs.from_spec(codec.to_spec(), Catalogue())
    assert isinstance(again, Quantiser)
    assert np.array_equal(again.encode(wave), symbols)
    values = codec.values_of(symbols)
    assert values.shape == (len(symbols) // codec.phases, bands * channels)
    assert np.array_equal(codec.quantised(values), symbols)


@pytest.mark.parametrize("bands", ALL)
@pytest.mark.parametrize(("channels", "digits"), SHAPES)
def test_pieces_cut_anywhere_are_the_whole(bands: int, channels: int, digits: int) -> None:
    wave = frames(channels=channels)
    codec = MuLaw(1000, RATE, 1.5, channels, digits, bands=bands)
    if bands > 1:
        codec = MuLaw(
            1000, RATE, 1.5, channels, digits, bands=bands,
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


@pytest.mark.parametrize("bands", [1, 2, 4])
def test_a_slice_is_that_of_the_whole(bands: int) -> None:
    codec = MuLaw(256, RATE, bands=bands)
    symbols = codec.encode(frames())
    sound, whole = SoundPart(Part.of(symbols, frame=codec.phases), codec), codec.frames(symbols)
    assert len(sound) == len(whole)
    for begin, end in ((0, 5), (1, 50), (2001, 2002), (4990, 5003), (4000, 4000)):
        assert np.array_equal(sound.frames(begin, end), whole[begin:end])
    assert np.array_equal(np.concatenate([*sound.blocks(333)]), whole)


def test_a_spec_names_them_only_if_there_are_any() -> None:
    assert not {"bands", "band_gains"} & MuLaw(256, RATE).to_spec().keys()
    gains = (1.5, 0.0, 1000.3, 1.0)
    emphases = (0.5, 0.0, 0.0, 0.3)
    assert "band_emphases" not in MuLaw(256, RATE, bands=4).to_spec()
    spec = Linear(256, RATE, bands=4, band_gains=gains, band_emphases=emphases).to_spec()
    again = codecs.from_spec(spec, Catalogue())
    assert isinstance(again, Quantiser)
    assert (again.bands, again.band_gains, again.band_emphases) == (4, gains, emphases)
    for wrong in ((1.0, 1.0), (1.0, -1.0, 1.0, 1.0), (1.0, 1.0, float("inf"), 1.0)):
        with pytest.raises(ValueError, match="gain"):
            MuLaw(256, RATE, bands=4, band_gains=wrong)
    with pytest.raises(ValueError, match="bands is 1 to 8, not 9"):
        MuLaw(256, RATE, bands=9)
    with pytest.raises(ValueError, match=r"bands is one of .*, not 3"):
        MuLaw(256, RATE, bands=3)


def test_a_rate_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"44100 Hz: 4 bands .* data\.sample_rate=44000 or 44400"):
        MuLaw(256, 44_100, bands=4)
    with pytest.raises(ConfigError, match=r"44100 Hz: 4 bands .* data\.bands=1"):
        read(frames(), tmp_path, 44_100, bands="4")


def test_silence_is_decoded_to_what_is_said() -> None:
    codec = Linear(256, RATE, bands=4, band_gains=(2.0, 1.0, 1.0, 4.0))
    made = codec.decode(codec.encode(np.zeros(4000, np.float32)))
    assert made[400:].mean() == pytest.approx(codec.silence, rel=0.01)


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


def test_each_band_has_the_emphasis_that_costs_least(tmp_path: Path) -> None:
    time = np.arange(64_000) / 32_000
    low = (0.4 * np.sin(2 * np.pi * 150 * time) + 0.01 * coloured(64_000)).astype(np.float32)
    without = read(low[:, None], tmp_path, 32_000, bands="4").snr
    corpus = read(low[:, None], tmp_path, 32_000, bands="4", emphasis="auto")
    codec = corpus.codec
    assert isinstance(codec, Quantiser)
    assert codec.band_emphases[0] >= 0.7
    assert max(codec.band_emphases[1:]) <= 0.3
    assert without is not None
    assert corpus.snr is not None
    assert corpus.snr > without + 2
    sound, whole = SoundPart(corpus.whole, codec), codec.frames(corpus.whole.symbols[:])
    for begin in (0, 30_001, 60_000):
        assert sound.frames(begin, begin + 9) == pytest.approx(whole[begin : begin + 9], abs=1e-4)


@pytest.mark.parametrize("hertz", [440, 5000, 15_500])
def test_a_tone_comes_back(hertz: int, tmp_path: Path) -> None:
    fade = np.minimum(1, np.arange(64_000) / 3200).astype(np.float32)
    tone = 0.5 * fade * np.sin(2 * np.pi * hertz * np.arange(64_000, dtype=np.float32) / 32_000)
    corpus = read(tone[:, None], tmp_path, 32_000, bands="4")
    assert corpus.snr is not None
    assert corpus.snr > 36


def test_a_silent_channel_costs_nothing(tmp_path: Path) -> None:
    both = np.stack([coloured(64_000), np.zeros(64_000, np.float32)], 1)
    corpus = read(both, tmp_path, 32_000, bands="4", channels=2)
    assert isinstance(corpus.codec, Quantiser)
    assert corpus.codec.used.tolist() == [0, 2, 4, 6]
    assert not corpus.codec.frames(corpus.whole.symbols[:])[:, 1].any()


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


def test_two_sounds_stay_apart_below_4_khz_and_as_loud_above(tmp_path: Path) -> None:
    draw = np.random.default_rng(4)
    own = draw.standard_normal((64_000, 2)) * (0.1, 0.05)
    corpus = read(own.astype(np.float32), tmp_path, 32_000, bands="8", channels=2)
    codec = corpus.codec
    assert isinstance(codec, Quantiser)
    assert codec.used.tolist() == [0, 1, 2, 3, *range(4, 16, 2)]
    made = codec.frames(corpus.whole.symbols[:])[codec.delay :]
    spectra = np.fft.rfft(np.stack([own[: len(made)], made]), axis=1)
    low, high = slice(100, len(made) // 9), slice(len(made) // 7, -100)
    error = np.abs(spectra[1, low] - spectra[0, low])
    assert (error.mean(0) < 0.02 * np.abs(spectra[0, low]).mean(0)).all()
    wanted, found = (np.square(np.abs(each[high])).mean(0) for each in spectra)
    assert (np.abs(10 * np.log10(found / wanted)) < 4).all()


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


def test_a_part_is_trimmed_by_frames() -> None:
    codec = MuLaw(256, 8000, 1.0, 2, bands=4)
    time = np.arange(16_000) / 8000
    tone = np.where(time < 1, 0, np.sin(2 * np.pi * 300 * time))
    wave = np.stack([tone, tone], 1).astype(np.float32)
    part = Part.of(codec.encode(wave), frame=codec.phases)
    trimmed = without_silence(SoundPart(part, codec), 40)
    assert len(trimmed.part) == 2 * 8000


def test_a_file_shorter_than_a_frame_is_left_out(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="shorter than 20 ms"):
        read(frames(3) + 0.1, tmp_path, 32_000, bands="4")


@pytest.mark.parametrize("correlation", [-0.1, 0.1])
def test_highs_of_two_sounds_stay_in_their_mix(correlation: float, tmp_path: Path) -> None:
    own = 0.1 * np.random.default_rng(5).standard_normal((64_000, 2))
    own[:, 1] += correlation * own[:, 0]
    corpus = read(own.astype(np.float32), tmp_path, 32_000, bands="8", channels=2)
    assert isinstance(corpus.codec, Quantiser)
    made = corpus.codec.decode(corpus.whole.symbols[:])
    powers = [np.square(np.abs(np.fft.rfft(w)))[20_000:] for w in (own.mean(1), made[: len(own)])]
    assert 10 * np.log10(powers[1].mean() / powers[0].mean()) > -4
