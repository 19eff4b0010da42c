"""Signal processing by torchaudio, which only this file imports, and only when it is needed.

A torchaudio that was built for another PyTorch or CUDA fails when it is imported. Work with text
alone neither waits for it nor fails with it.
"""

from collections.abc import Callable
from types import ModuleType

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from seqkit.data.sound import Wave
from seqkit.foundation.errors import PackageError
from seqkit.symbols import Floats

_PADDING = 2  # frames are padded to twice their length: the lowest mel bands need finer bins
_WITH_CUDA = "'torch>=2.11,<2.15' 'torchaudio>=2.11,<2.12'"
_FOR_CPU = "--no-deps 'torchaudio>=2.11,<2.12' --index-url https://download.pytorch.org/whl/cpu"


def sinc_resampling(
    rate: int, new_rate: int, zeros: int, rolloff: float
) -> Callable[[Tensor], Tensor]:
    """What resamples a wave (n,) to (ceil(n * new_rate / rate),), with silence around it.

    Args:
        rate, new_rate: in lowest terms; the filter's table has about rate * new_rate entries.
        zeros: zero crossings on each side of the sinc, which is under a Hann window.
        rolloff: the filter's corner, as a share of the lower Nyquist frequency.
    """
    transforms = _torchaudio().transforms
    filters = transforms.Resample(rate, new_rate, lowpass_filter_width=zeros, rolloff=rolloff)

    def resample(wave: Tensor) -> Tensor:
        # Not `filters(wave)`: it counts samples in float32, and may lose the last one.
        padded = F.pad(wave, (filters.width, filters.width + rate))
        groups = F.conv1d(padded[None, None], filters.kernel, stride=rate)[0]  # (new_rate, groups)
        return groups.T.reshape(-1)[: -(-wave.numel() * new_rate // rate)]

    return resample


def mu_law_levels(wave: Wave, levels: int) -> npt.NDArray[np.int64]:
    """The levels (N,) of samples (N,), which have to be within ±1: torchaudio does not check."""
    encode = _torchaudio().functional.mu_law_encoding
    found: npt.NDArray[np.int64] = encode(torch.from_numpy(wave), levels).numpy()
    return found


def mu_law_values(levels: int) -> Wave:
    """The sample that every level stands for, (levels,)."""
    decode = _torchaudio().functional.mu_law_decoding
    found: Wave = decode(torch.arange(levels), levels).numpy()
    return found


def mel_power(wave: Wave, sample_rate: int, size: int, bands: int) -> Floats:
    """The power (bands, frames) of a wave (N,) in mel bands from 0 to half the sample rate.

    Frames of `size` samples under a Hann window, a quarter of that apart, with silence around.
    """
    transform = _torchaudio().transforms.MelSpectrogram(
        sample_rate,
        n_fft=_PADDING * size,
        win_length=size,
        hop_length=size // 4,
        f_max=sample_rate / 2,
        n_mels=bands,
        pad_mode="constant",
    )
    # A band holds as many more bins, each as high as without the padding.
    power = transform(torch.from_numpy(np.array(wave, np.float32)))
    return np.asarray(power.numpy() / _PADDING)


def frechet_distance(
    mean: Floats, covariance: Floats, mean_2: Floats, covariance_2: Floats
) -> float:
    """The squared Fréchet distance of two normal distributions (Dowson and Landau, 1982).

    Means (D,) and covariances (D, D).
    """
    values = (torch.from_numpy(part) for part in (mean, covariance, mean_2, covariance_2))
    return max(float(_torchaudio().functional.frechet_distance(*values)), 0.0)


def _torchaudio() -> ModuleType:
    """Raises PackageError where it is missing, or was built for another PyTorch."""
    try:
        import torchaudio
    except (ImportError, OSError, RuntimeError) as error:  # missing; another PyTorch, another CUDA
        reason = str(error).partition(". ")[0]
        what = _WITH_CUDA if torch.version.cuda else _FOR_CPU
        raise PackageError(
            f"sound needs torchaudio, which does not load beside PyTorch {torch.__version__} "
            f"({reason}): pip install --force-reinstall {what}"
        ) from error
    library: ModuleType = torchaudio
    return library
