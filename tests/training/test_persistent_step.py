"""A training step with the persistent kernel, beside cuDNN's."""

import numpy as np
import pytest

from seqkit.lstm import Execution
from tests.training.stepping import GPU, B, T, V, learned, require_near, step


@GPU
@pytest.mark.parametrize("documents", [1, 9])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("embedding", ["one_hot", "embedding"])
def test_the_persistent_kernel_trains_as_cudnn_does(
    documents: int, dropout: float, embedding: str
) -> None:
    settings = {"documents": documents, "dropout": dropout, "input": embedding, "hidden_size": 64}
    cudnn, own = (Execution(kernel, "fp16", 8) for kernel in ("layerwise", "persistent"))
    eager = learned(own, False, settings)
    require_near(eager, learned(cudnn, False, settings))
    require_near(learned(own, True, settings), eager)


@GPU
def test_the_persistent_kernel_learns_as_cudnn_does() -> None:
    """Symbols whose chances depend on the one before, too many to be learnt by heart."""
    random, symbols = np.random.default_rng(4), [0]
    chances = random.dirichlet(np.full(V, 0.3), V).cumsum(1)
    for draw in random.random(B * T * 600):
        symbols.append(min(int(np.searchsorted(chances[symbols[-1]], draw)), V - 1))
    text, losses = np.array(symbols, np.uint8), {}
    for kernel in ("layerwise", "persistent"):
        way = Execution(kernel, "fp16", 8)
        _, stepper = step(way, "cuda", symbols=text, hidden_size=128)
        stepper.capture()
        for number in range(500):
            stepper.run(number, 0.003)
            if number == 399:
                stepper.pop_loss_sum()
        losses[kernel] = stepper.pop_loss_sum()
    assert losses["persistent"] == pytest.approx(losses["layerwise"], rel=0.005)
