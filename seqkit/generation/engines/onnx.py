"""The onnx engine: ONNX Runtime on the CPU, many steps and draws in a call."""

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np
import onnxruntime
import torch

from seqkit.generation.engines.onnx_graph import OnnxStep
from seqkit.generation.engines.onnx_models import many_steps
from seqkit.generation.sampling import Sampling
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import State
from seqkit.symbols import Floats, Integers


class OnnxEngine:
    """Generates with ONNX Runtime, in fp32 or with int8 products."""

    block = 64

    def __init__(self, model: CharRNN, size: int, precision: str) -> None:
        """`size` is the codec's V, `precision` fp32 or int8."""
        self._step = OnnxStep(model, size, int8=precision == "int8")
        self._sessions: dict[Sampling | None, onnxruntime.InferenceSession] = {}

    def sample(
        self, symbols: Integers, state: State, draws: Iterable[Floats], sampling: Sampling
    ) -> Iterator[Integers]:
        """See Engine."""
        session = self._session(dataclasses.replace(sampling, seed=0))
        arrays = self._arrays(state)
        for block in draws:
            names = [value.name for value in session.get_inputs()]
            feeds = dict(zip(names, [symbols, *arrays, block], strict=True))
            symbols, *arrays, drawn = session.run(None, feeds)
            yield drawn

    def score(self, symbols: Integers, state: State) -> tuple[Floats, State]:
        """See Engine."""
        session = self._session(None)
        names = [value.name for value in session.get_inputs()]
        feeds = dict(zip(names, [*self._arrays(state), symbols], strict=True))
        *arrays, logits = session.run(None, feeds)
        h, c = (torch.from_numpy(np.stack(arrays[place::2])) for place in (0, 1))
        return logits, State(h, c)

    def _session(self, sampling: Sampling | None) -> onnxruntime.InferenceSession:
        if sampling not in self._sessions:
            self._sessions[sampling] = open_session(
                many_steps(self._step, sampling).SerializeToString()
            )
        return self._sessions[sampling]

    @staticmethod
    def _arrays(state: State) -> list[Floats]:
        """h0 c0 h1 c1 ..., each (S, H)."""
        h, c = (values.float().cpu().numpy() for values in state)
        return [array for pair in zip(h, c, strict=True) for array in pair]


def open_session(model: bytes) -> onnxruntime.InferenceSession:
    """A session on the CPU, with as many threads as PyTorch would take."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
