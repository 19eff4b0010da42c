"""The mu-law curve (ITU-T G.711), computed by torchaudio or by the same equations."""

import numpy as np
import numpy.typing as npt
import torch

from seqkit.data.sound import Wave
from seqkit.data.sound.torchaudio_import import torchaudio


def encode(wave: Wave, levels: int) -> npt.NDArray[np.int64]:
    """The levels 0 … levels-1 of samples (N,), which the caller has clipped to [-1, 1].

    sign(x) ln(1 + mu |x|) / ln(1 + mu), mu = levels - 1, rounded to equal steps.
    """
    x = torch.from_numpy(np.ascontiguousarray(wave))
    if library := torchaudio():
        encoded: npt.NDArray[np.int64] = library.functional.mu_law_encoding(x, levels).numpy()
        return encoded
    mu = torch.tensor(levels - 1.0)
    curve = torch.sign(x) * torch.log1p(mu * torch.abs(x)) / torch.log1p(mu)
    return ((curve + 1) / 2 * mu + 0.5).to(torch.int64).numpy()


def decode(symbols: npt.NDArray[np.int64], levels: int) -> Wave:
    """The values (N,) within [-1, 1] of mu-law levels (N,)."""
    y = torch.from_numpy(symbols)
    if library := torchaudio():
        decoded: Wave = library.functional.mu_law_decoding(y, levels).numpy()
        return decoded
    mu = torch.tensor(levels - 1.0)
    curve = y.float() / mu * 2 - 1
    wave = torch.sign(curve) * (torch.exp(torch.abs(curve) * torch.log1p(mu)) - 1) / mu
    return wave.numpy()
