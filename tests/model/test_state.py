"""What a network carries from step to step."""

import numpy as np

from seqkit.config import ModelConfig
from seqkit.model.state import zero_state


def test_tensors_of_a_state_are_contiguous_whichever_lanes_numpy_picked() -> None:
    state = zero_state(ModelConfig(num_layers=3, hidden_size=4, vocabulary_size=2), 2)
    picked = type(state)(*(part[:, np.array([0, 1, 0])] for part in state))
    assert not picked.h.flags.c_contiguous
    assert all(part.is_contiguous() for part in picked.on("cpu"))
