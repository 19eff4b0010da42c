"""Several symbols make a frame, as those of spectral sound."""

import numpy as np
import pytest

from seqkit.data import codecs
from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Corpus, Part
from seqkit.data.lanes import Lanes
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError
from seqkit.symbols import IGNORED

RATE = 4000


def test_what_older_quantisers_did_beside_is_refused() -> None:
    spec = MuLaw(256, RATE).to_spec()
    old = {"symbols_per_sample": 1, "channels": 1, "emphasis": 0.0, "bands": 1}
    assert codecs.from_spec(spec | old, Catalogue()).to_spec() == spec
    for name, value in (("symbols_per_sample", 2), ("channels", 2), ("bands", 4)):
        with pytest.raises(ValueError, match=f"{name} are not read any more: train anew"):
            codecs.from_spec(spec | {name: value}, Catalogue())


def test_a_split_cuts_no_frame() -> None:
    part = Part.of(np.zeros(4 * 333, np.uint8), frame=4)
    for piece in Corpus(part, MuLaw(256, RATE), "a", "").split([0.77, 0.13, 0.1]):
        assert len(piece) % 4 == 0


@pytest.mark.parametrize("shift_seed", [None, 3])
@pytest.mark.parametrize("frame", [1, 2, 4])
@pytest.mark.parametrize("lengths", [(90,), (3, 40, 1, 25, 60)])
def test_every_window_of_every_lane_begins_with_a_whole_frame(
    lengths: tuple[int, ...], frame: int, shift_seed: int | None
) -> None:
    documents = [np.arange(n * frame, dtype=np.uint16) for n in lengths]
    lanes = Lanes(Part.of(*documents, frame=frame), 0, 3, 2 * frame, shift_seed)
    for epoch in range(3):
        seen: list[int] = []
        for step in range(epoch * lanes.steps, (epoch + 1) * lanes.steps):
            targets = lanes.window(step).targets.numpy()
            times, _ = np.nonzero(targets != IGNORED)
            read = targets[targets != IGNORED]
            np.testing.assert_array_equal(read % frame, times % frame)
            assert len(read) == lanes.count(step)
            seen += read.tolist()
        assert sorted(seen) == sorted(np.concatenate(documents).tolist())


def test_windows_cut_no_frame() -> None:
    part = Part.of(np.zeros(400, np.uint8), frame=4)
    with pytest.raises(ConfigError, match="give a multiple of 4"):
        Lanes(part, 0, 3, 75)
