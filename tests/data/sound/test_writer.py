"""What is written can be read: at every moment, or when it is closed."""

import contextlib
import io
import wave as waves
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data.sound import reader, writer
from seqkit.foundation.errors import OutputError
from tests.conftest import fill_disk
from tests.data.sound.test_reader import RATE, tone


@pytest.mark.parametrize("suffix", writer.WRITTEN)
def test_what_is_written_is_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    with writer.create(path, RATE) as output:
        for piece in np.array_split(tone(), 5):
            output.write(piece)
            if suffix == ".wav":  # whole at every moment
                assert soundfile.info(path).frames * 2 + 44 == path.stat().st_size
                reader.read_whole(path)
    wave, rate = reader.read_whole(path)
    assert rate == RATE
    np.testing.assert_allclose(
        wave[: len(tone())], tone(), atol=0.05 if suffix in (".ogg", ".mp3") else 1e-4
    )
    with pytest.raises(OutputError, match="exists"), writer.create(path, RATE):
        pass
    with writer.create(path, RATE, overwrite=True):
        pass


def test_a_long_wave_goes_to_ogg_in_pieces(tmp_path: Path) -> None:
    long = np.append(np.zeros(3_000_000, np.float32), tone())  # silence is encoded quickly
    with writer.create(tmp_path / "long.ogg", 8000) as output:
        output.write(long)
    wave, _ = reader.read_whole(tmp_path / "long.ogg")
    assert wave.size == long.size
    assert np.abs(wave - long).max() < 0.05
    for name, rate, said in (
        ("high.ogg", 384_000, "192000 Hz"),
        ("a.mp3", 4000, "sample rates of"),
    ):
        with pytest.raises(OutputError, match=said), writer.create(tmp_path / name, rate):
            pass
        assert not (tmp_path / name).exists()


def test_the_header_is_the_standard_one(tmp_path: Path) -> None:
    assert writer.header(RATE, samples=1 << 33) == writer.header(RATE)  # more than it can say
    with writer.create(tmp_path / "a.wav", RATE) as output:
        for piece in np.array_split(tone(), 3):
            output.write(piece)
    expected = io.BytesIO()
    with waves.open(expected, "wb") as standard:
        standard.setparams((1, 2, RATE, 0, "NONE", ""))
        standard.writeframes(writer.pcm16(tone()))
    assert (tmp_path / "a.wav").read_bytes() == expected.getvalue()


@pytest.mark.parametrize("suffix", writer.WRITTEN)
@pytest.mark.parametrize("left", [20_000, 60])
def test_a_full_disk_is_told(
    suffix: str, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_disk(monkeypatch, left)
    noise = np.random.default_rng(1).uniform(-1, 1, 10_000).astype(np.float32)
    path = tmp_path / f"a{suffix}"
    with (
        pytest.raises(OutputError, match=rf"a\{suffix}: no space left"),
        writer.create(path, RATE) as output,
    ):
        try:
            for _ in range(100):
                output.write(noise)
        except OutputError:
            if suffix == ".wav":  # what was there before is still whole
                assert soundfile.info(path).frames in (0, 10_000)
            raise
    assert not path.exists()


@pytest.mark.parametrize("suffix", [".wav", ".flac"])
@pytest.mark.parametrize("failure", [OutputError, KeyboardInterrupt, None])
def test_what_is_replaced_stays_until_the_new_file_is_whole(
    suffix: str, failure: type[BaseException] | None, tmp_path: Path
) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"old")
    with (
        pytest.raises(failure) if failure else contextlib.nullcontext(),
        writer.create(path, RATE, overwrite=True) as output,
    ):
        output.write(tone())
        assert path.read_bytes() == b"old"
        if failure:
            raise failure
    if failure:
        assert path.read_bytes() == b"old"
    else:
        assert reader.read_whole(path)[0].size == tone().size
    assert [*tmp_path.iterdir()] == [path]
