"""The coder on a GPU: windows recorded once and replayed, and its entropy coder as two kernels."""

import functools
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from seqkit.compression.rans import BITS, States, Words
from seqkit.compression.steps import Steps
from seqkit.kernels.arguments import Value
from seqkit.kernels.graph import Recording
from seqkit.kernels.nvrtc import Kernel
from seqkit.symbols import Integers


class KernelEncoder:
    """See Encode: one launch for a block."""

    def __init__(self, ways: int, device: torch.device) -> None:
        self._ways = ways
        self._kernel = Kernel(
            "encode_lanes",
            sources=[Path(__file__).with_name("encode.cu")],
            constants={"WAYS": ways, "BITS": BITS},
            device=device,
        )

    def __call__(self, lowers: Tensor, widths: Tensor) -> tuple[States, Words]:
        """As `rans.encode`, of contiguous int64 tensors (R, W) on the GPU."""
        states, first = (lowers.new_empty(count) for count in (self._ways, 1))
        words = torch.empty(lowers.numel(), dtype=torch.int32, device=lowers.device)
        arguments: dict[str, Value] = {"lowers": lowers, "widths": widths, "rows": len(lowers)}
        arguments |= {"states": states, "words": words, "first": first}
        self._kernel.launch(arguments, blocks=1, threads=32)
        made = words[int(first) :].cpu().numpy()
        return states.cpu().numpy().view(np.uint64), made.view(np.uint32)


class GraphDecoder:
    """See WindowDecoder: the entropy decoder is a kernel of its own inside the recorded window."""

    def __init__(
        self, steps: Steps, size: int, *, lanes: int, ways: int, device: torch.device
    ) -> None:
        """`size` is the codec's V."""
        self._decoder = _Decoder(size, steps.window, lanes=lanes, ways=ways, device=device)
        # What is recorded must not refer to this object: see CudaGraphEngine.
        self._recording = Recording(functools.partial(steps.advance, self._decoder.take), device)

    def begin(self, states: States, words: Words) -> None:
        """See WindowDecoder."""
        self._decoder.begin(states, words)

    def window(self, steps: Steps) -> Integers:
        """See WindowDecoder; `steps` are those that were recorded."""
        self._recording()
        made: Integers = self._decoder.made.cpu().numpy()
        return made


class _Decoder:
    """States and words on the GPU, at addresses that stay."""

    def __init__(
        self, size: int, window: int, *, lanes: int, ways: int, device: torch.device
    ) -> None:
        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=torch.int64, device=device)

        self.made = zeros(window, lanes)
        """The symbols of a window."""
        self._states = zeros(ways)
        self._stream = zeros(3)  # where the words are, how many, and which is the next
        self._words = zeros(1)
        self._stream[0] = self._words.data_ptr()
        self._kernel = Kernel(
            "decode_lanes",
            sources=[Path(__file__).with_name("decode.cu")],
            constants={"V": size, "LANES": lanes, "WAYS": ways, "BITS": BITS},
            device=device,
        )

    def begin(self, states: States, words: Words) -> None:
        """Start from what an encoder returned."""
        self._states.copy_(torch.from_numpy(states.astype("int64")))
        self._words = torch.from_numpy(words.astype("int64")).to(self._states.device).int()
        place = torch.tensor([self._words.data_ptr(), len(words), 0])
        self._stream.copy_(place)

    def take(self, index: int, bounds: Tensor) -> Tensor:
        """Queue the decoding of one step: the symbols (B,), when the GPU gets there."""
        symbols = self.made[index]
        words, count, following = self._stream
        arguments: dict[str, Value] = {
            "bounds": bounds,
            "states": self._states,
            "words": words,
            "count": count,
        }
        arguments |= {"next": following, "symbols": symbols}
        self._kernel.launch(arguments, blocks=1, threads=32)
        return symbols
