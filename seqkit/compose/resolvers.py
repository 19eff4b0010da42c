"""What recipes may compute of other keys, in the interpolations of OmegaConf.

model.lookback: ${seqkit.frames:20}            frames in 20 ms of sound
train.sequence_length: ${seqkit.symbols:16}    symbols in 16 ms, whole frames
"""

from omegaconf import DictConfig, OmegaConf

from seqkit.config import bands_of

_UNKNOWN_RATE = 8000
"""Hertz for which samples are counted if files keep their own rates."""


def frames(milliseconds: float, *, _root_: DictConfig) -> int:
    """How many frames last so long, of a sample in each band."""
    data = _root_.data
    rate = data.sample_rate or _UNKNOWN_RATE
    return round(milliseconds / 1000 * rate / bands_of(data.bands, rate))


def symbols(milliseconds: float, *, _root_: DictConfig) -> int:
    """How many symbols these frames have."""
    data = _root_.data
    bands = bands_of(data.bands, data.sample_rate or _UNKNOWN_RATE)
    in_a_frame = bands * data.channels
    count: int = in_a_frame * frames(milliseconds, _root_=_root_)
    return count


def register_resolvers() -> None:
    """Let configs use them."""
    OmegaConf.register_new_resolver("seqkit.frames", frames, replace=True)
    OmegaConf.register_new_resolver("seqkit.symbols", symbols, replace=True)
