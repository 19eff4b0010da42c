"""How fast this machine trains on its CPU, measured in about two seconds.

What is measured is the network forward and backward, at two widths, without the optimizer: its
imports alone would take a quarter of the memory that `doctor` may use.
"""

import dataclasses
import math
import time
from dataclasses import dataclass

import numpy as np
import torch

from seqkit.config import ModelConfig
from seqkit.foundation.device import DTYPES
from seqkit.foundation.threads import SharedCores
from seqkit.model.char_rnn import CharRNN, count_parameters
from seqkit.model.loss import cross_entropy
from seqkit.model.network import State

_WIDTHS = (128, 256)
_STEPS = 32  # T, which has little effect on the speed
_SECONDS = 0.8  # for each width
_FEWEST = 4  # steps that are timed, at least
_WIDER = 0.15  # the rate grows with this power of the width beyond the widest one measured
_OVERHEAD = 1.12  # batches, masks and the gradient's norm, in forward and backward passes
_UPDATE = 6e-9  # seconds a weight: AdamW and the average


@dataclass(frozen=True)
class Speed:
    """Operations a second of this machine in B lanes, by the width of the layers."""

    rates: dict[int, float]
    lanes: int

    def step_seconds(self, model: ModelConfig, steps: int) -> float:
        """The expected time of a training step of a network, in lanes as measured and T steps."""
        parameters = count_parameters(model)
        operations = 6.0 * parameters * self.lanes * steps
        widths = sorted(self.rates)
        log_rates = [math.log(self.rates[width]) for width in widths]
        log_width = math.log(model.hidden_size)
        rate = float(np.interp(log_width, np.log(widths), log_rates))
        rate += _WIDER * max(0.0, log_width - math.log(widths[-1]))
        return _OVERHEAD * operations / math.exp(rate) + _UPDATE * parameters


def measure(model: ModelConfig, lanes: int, precision: str) -> Speed:
    """Time forward and backward passes.

    Args:
        model: the kind of network, with its vocabulary_size; its width is varied.
        lanes: B.
        precision: fp32 or bf16.
    """
    rates = {}
    with SharedCores(torch.device("cpu")) as cores:
        for width in _WIDTHS:
            wide = dataclasses.replace(model, hidden_size=width)
            operations = 6.0 * count_parameters(wide) * lanes * _STEPS
            rates[width] = operations / _pass_seconds(wide, lanes, precision, cores)
    return Speed(rates, lanes)


def _pass_seconds(model: ModelConfig, lanes: int, precision: str, cores: SharedCores) -> float:
    """The time of a forward and a backward pass where nothing else disturbs them."""
    generator = torch.Generator().manual_seed(0)
    network = CharRNN(model, generator).leaves(
        dtype=DTYPES[precision], kernel="layerwise", separators=False
    )
    leaves = network.tensors()
    symbols = torch.randint(model.vocabulary_size, (_STEPS + 1, lanes), generator=generator)
    shape = (model.num_layers, lanes, model.hidden_size)
    state = State(*(torch.zeros(shape, dtype=DTYPES[precision]) for _ in "hc"))
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(times) <= _FEWEST or time.perf_counter() < end:
        begun = time.perf_counter()
        logits, _ = network(symbols[:-1], state)
        torch.autograd.grad(cross_entropy(logits, symbols[1:]), leaves)
        times.append(time.perf_counter() - begun)
        cores.adapt()
    return float(np.quantile(times[1:], 0.25))  # the first one chooses kernels
