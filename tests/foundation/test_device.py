"""What is set up for the whole process."""

import pytest

from seqkit.foundation import device
from seqkit.foundation.errors import DeviceError


@pytest.mark.parametrize("name", ["mps", "mps:0"])
def test_a_mac_s_gpu_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(DeviceError, match=r"wrong results .* give device=cpu"):
        device.choose_device(name)
