"""The one place that imports torchaudio, once sound needs it: text does not wait for it."""

from typing import Any

import torch

from seqkit.foundation.errors import PackageError

_WITH_CUDA = "'torch>=2.11,<2.15' 'torchaudio>=2.11,<2.12'"
_FOR_CPU = "--no-deps 'torchaudio>=2.11,<2.12' --index-url https://download.pytorch.org/whl/cpu"


def torchaudio() -> Any:
    """The library. Raises PackageError: it is missing, or built for another PyTorch or CUDA."""
    try:
        import torchaudio as library
    except (ImportError, OSError, RuntimeError) as error:
        reason = str(error).partition(". ")[0]
        what = _WITH_CUDA if torch.version.cuda else _FOR_CPU
        raise PackageError(
            f"sound needs torchaudio, which does not load beside PyTorch {torch.__version__} "
            f"({reason}): pip install --force-reinstall {what}"
        ) from error
    return library
