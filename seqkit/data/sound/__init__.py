"""Sound: as numbers, in files, in pictures."""

import numpy as np
import numpy.typing as npt

Wave = npt.NDArray[np.float32]
"""Samples (N,) of one channel, full scale being ±1."""
Frames = npt.NDArray[np.float32]
"""Samples (N, C) of all channels."""
