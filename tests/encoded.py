"""Files of sound as phones, cameras and browsers make them, for tests that read them."""

from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream

from seqkit.data.sound import Frames


def encode(
    path: Path,
    frames: Frames,
    rate: int,
    codec: str,
    container: str | None = None,
    options: dict[str, str] | None = None,
) -> Path:
    """Frames (n, C) as a file of that codec; the container goes by the name unless it is given."""
    layout = "mono" if frames.shape[1] == 1 else "stereo"
    packed = np.ascontiguousarray(frames.reshape(1, -1), np.float32)
    sound = av.AudioFrame.from_ndarray(packed, format="flt", layout=layout)
    sound.sample_rate = rate
    with av.open(str(path), "w", format=container, options=options or {}) as file:
        track = file.add_stream(codec, rate=rate, layout=layout)
        assert isinstance(track, AudioStream)
        track.bit_rate = 12_200 if codec == "amr_nb" else 128_000  # the most of AMR
        for frame in (sound, None):
            file.mux(track.encode(frame))
    return path
