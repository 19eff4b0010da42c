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


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    with writer.create(path, RATE) as output:
        for piece in np.array_split(tone(), 5):
            output.write(piece)
            assert soundfile.info(path).frames * 2 + 44 == path.stat().st_size
            reader.read_whole(path)
    wave, rate = reader.read_whole(path)
    assert rate == RATE
    np.testing.assert_allclose(wave, tone(), atol=1e-4)
    with pytest.raises(OutputError, match="exists"), writer.create(path, RATE):
        pass
    with writer.create(path, RATE, overwrite=True):
        pass


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


@pytest.mark.parametrize("left", [20_000, 60])
def test_a_full_disk_is_told(left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_disk(monkeypatch, left)
    noise = np.random.default_rng(1).uniform(-1, 1, 10_000).astype(np.float32)
    path = tmp_path / "a.wav"
    with (
        pytest.raises(OutputError, match=r"a\.wav: no space left"),
        writer.create(path, RATE) as output,
    ):
        try:
            for _ in range(100):
                output.write(noise)
        except OutputError:  # what was there before is still whole
            assert soundfile.info(path).frames in (0, 10_000)
            raise
    assert not path.exists()


@pytest.mark.parametrize("failure", [OutputError, KeyboardInterrupt, None])
def test_what_is_replaced_stays_until_the_new_file_is_whole(
    failure: type[BaseException] | None, tmp_path: Path
) -> None:
    path = tmp_path / "a.wav"
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
