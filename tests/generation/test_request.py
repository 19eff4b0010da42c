"""The estimates of generation and evaluation, beside what they really take."""

import subprocess
from pathlib import Path

import pytest

from seqkit.config import ModelConfig
from seqkit.generation.request import stream_bytes
from tests.conftest import Tell, environment
from tests.warm_python import python

_MEASURE = """
import sys
from pathlib import Path
import numpy as np
from seqkit.config import ModelConfig
from seqkit.data.codecs import Characters
from seqkit.generation.continuation import continue_prompt
from seqkit.generation.request import Request
from seqkit.generation.trained import Trained
from seqkit.model.char_rnn import CharRNN

def peak():
    status = Path("/proc/self/status").read_text()  # unlike rusage, not the parent's
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])

def generate(layers, hidden, size, streams):
    codec = Characters("".join(chr(200 + n) for n in range(size)), 0)
    model = CharRNN(ModelConfig(num_layers=layers, hidden_size=hidden, vocabulary_size=size))
    request = Request(length=4, streams=streams, engine=sys.argv[1])
    for _ in continue_prompt(Trained(model, codec), np.zeros(0, np.uint8), request, notice=print):
        pass
    return peak()

first = generate(1, 8, 5, 2)
print(generate(*map(int, sys.argv[2:])) - first)
"""


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the peak")
@pytest.mark.faults
@pytest.mark.parametrize(
    ("engine", "shape"),
    [
        ("torch", (1, 8, 1500, 10_000)),
        pytest.param("wasm", (1, 8, 1500, 10_000), marks=pytest.mark.every),
        pytest.param("torch", (2, 256, 65, 10_000), marks=pytest.mark.every),
        pytest.param("wasm", (2, 256, 65, 10_000), marks=pytest.mark.every),
    ],
)
def test_streams_take_what_is_estimated_or_a_little_more(
    engine: str, shape: tuple[int, int, int, int], tell: Tell
) -> None:
    done = subprocess.run(
        [python(), "-c", _MEASURE, engine, *map(str, shape)],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    layers, hidden, size, streams = shape
    model = ModelConfig(num_layers=layers, hidden_size=hidden, vocabulary_size=size)
    estimate = streams * stream_bytes(model, on_gpu=False)
    assert estimate < int(done.stdout) < 3 * estimate + 60 * 10**6
    tell("generations that take the memory that was estimated", 1)
