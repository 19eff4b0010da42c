"""Several symbols make a frame, as those of the channels of stereo."""

import numpy as np
import pytest

from seqkit.data import codecs
from seqkit.data.codecs import Characters, Linear, MuLaw, Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.data.lanes import Lanes, window_length
from seqkit.data.sound import Frames
from seqkit.evaluation import protocols, streaming
from seqkit.foundation.catalogue import Catalogue
from seqkit.symbols import IGNORED

RATE = 4000


def frames(count: int = 500, channels: int = 2) -> Frames:
    return np.random.default_rng(1).uniform(-1, 1, (count, channels)).astype(np.float32)


@pytest.mark.parametrize("kind", [MuLaw, Linear])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("levels", [256, 1000])
def test_a_frame_comes_back_as_near_as_one_symbol_for_every_sample_would_bring_it(
    kind: type[Quantiser], channels: int, levels: int
) -> None:
    codec = kind(levels, RATE, 0.5, channels)
    wave = frames(channels=channels)
    symbols = codec.encode(wave)
    assert symbols.shape == (len(wave) * channels,)
    assert symbols.max() < codec.size == levels
    assert codec.symbol_rate == RATE * channels
    plain = kind(levels, RATE, 0.5)
    expected = plain.decode(plain.encode(wave.reshape(-1))).reshape(wave.shape)
    np.testing.assert_array_equal(codec.frames(symbols), expected)
    np.testing.assert_allclose(codec.decode(symbols), expected.mean(1), atol=1e-6)
    again = kind.from_spec(codec.to_spec())
    np.testing.assert_array_equal(again.frames(symbols), expected)


@pytest.mark.parametrize("channels", [1, 2])
def test_pieces_cut_anywhere_sound_like_the_whole(channels: int) -> None:
    codec = MuLaw(1024, RATE, 1.0, channels)
    symbols = codec.encode(frames(100, channels))
    read = codec.reader()
    pieces = [read(piece) for piece in np.split(symbols, [1, 2, 3, 9, 50, 51])]
    np.testing.assert_array_equal(np.concatenate(pieces), codec.frames(symbols))
    assert codec.along(symbols).shape == symbols.shape


def test_samples_of_two_symbols_each_are_refused_and_of_one_each_read() -> None:
    spec = MuLaw(256, RATE, channels=2).to_spec()
    for count, said in ((1, ""), (2, "samples of two symbols each")):
        old = spec | {"symbols_per_sample": count}
        if said:
            with pytest.raises(ValueError, match=said):
                codecs.from_spec(old, Catalogue())
        else:
            assert codecs.from_spec(old, Catalogue()).to_spec() == spec
    with pytest.raises(ValueError, match="levels is 2 to 1024, not 4096"):
        codecs.from_spec(spec | {"levels": 4096}, Catalogue())


def test_a_split_cuts_no_frame() -> None:
    codec = MuLaw(256, RATE, 1.0, 2)
    part = Part.of(codec.encode(frames(333)), frame=codec.phases)
    for piece in Corpus(part, codec, "a", "").split([0.77, 0.13, 0.1]):
        assert len(piece) % 2 == 0


@pytest.mark.parametrize("shift_seed", [None, 3])
@pytest.mark.parametrize("frame", [1, 2, 4])
@pytest.mark.parametrize("lengths", [(90,), (3, 40, 1, 25, 60)])
def test_every_window_of_every_lane_begins_with_a_whole_frame(
    lengths: tuple[int, ...], frame: int, shift_seed: int | None
) -> None:
    documents = [np.arange(n * frame, dtype=np.uint16) for n in lengths]
    lanes = Lanes(Part.of(*documents, frame=frame), 0, 3, 2 * frame, shift_seed)
    for epoch in range(3):
        seen: list[int] = []
        for step in range(epoch * lanes.steps, (epoch + 1) * lanes.steps):
            targets = lanes.window(step).targets.numpy()
            times, _ = np.nonzero(targets != IGNORED)
            read = targets[targets != IGNORED]
            np.testing.assert_array_equal(read % frame, times % frame)
            assert len(read) == lanes.count(step)
            seen += read.tolist()
        assert sorted(seen) == sorted(np.concatenate(documents).tolist())


def test_windows_lack_the_symbols_that_the_codec_leaves_out() -> None:
    assert window_length(64, MuLaw(256, RATE, bands=8)) == 64
    assert window_length(64, MuLaw(256, RATE, bands=8, band_gains=[1, 1, 0, 1, *[0] * 4])) == 24
    assert window_length(75, Characters("ab", 0)) == 75


@pytest.mark.parametrize("frame", [1, 2, 4, 5, 10])
@pytest.mark.parametrize("lengths", [(90_001,), (700, 3, 25, 1000)])
def test_every_segment_begins_with_a_whole_frame(lengths: tuple[int, ...], frame: int) -> None:
    part = Part.of(*(np.zeros(n * frame, np.uint8) for n in lengths), frame=frame)
    for table in (
        protocols.streaming(part),
        protocols.windowed(part, 255),
        protocols.warmed(part),
        protocols.spread(part, 333),
        protocols.spread(part, 50_000),
        streaming.pieces(part),
    ):
        begins = (
            table[:, :2] - part.starts[np.searchsorted(part.starts, table[:, :2], side="right") - 1]
        )
        assert (begins % frame == 0).all()
