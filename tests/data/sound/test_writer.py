"""What is written can be read: at every moment, or when it is closed."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data.sound import reader, writer
from seqkit.errors import OutputError
from tests.data.sound.test_reader import RATE, tone


@pytest.mark.parametrize("suffix", writer.WRITTEN)
def test_what_is_written_is_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    output = writer.create(path, RATE)
    for piece in np.array_split(tone(), 5):
        output.write(piece)
        if suffix == ".wav":  # whole at every moment
            assert soundfile.info(path).frames * 2 + 44 == path.stat().st_size
            reader.read_whole(path)
    output.close()
    wave, rate = reader.read_whole(path)
    assert rate == RATE
    np.testing.assert_allclose(wave, tone(), atol=0.05 if suffix == ".ogg" else 1e-4)
    with pytest.raises(OutputError, match="exists"):
        writer.create(path, RATE)
    writer.create(path, RATE, overwrite=True).close()


def test_what_is_too_loud_is_clipped_in_writing() -> None:
    values = np.frombuffer(writer.pcm16(np.array([-2, -1, 0, 1, 2], np.float32)), "<i2")
    assert values.tolist() == [-32768, -32768, 0, 32767, 32767]


def test_a_long_wave_goes_to_ogg_in_pieces(tmp_path: Path) -> None:
    output = writer.create(tmp_path / "long.ogg", 8000)
    output.write(np.zeros(5_000_000, np.float32))
    output.close()
    assert soundfile.info(tmp_path / "long.ogg").frames == 5_000_000
    with pytest.raises(OutputError, match="192000 Hz"):
        writer.create(tmp_path / "high.ogg", 384_000)
