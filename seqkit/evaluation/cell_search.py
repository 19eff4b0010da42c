"""The cells that follow something best: quotes, brackets, lines; in sound, voice and silence."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch

from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, scoring
from seqkit.evaluation.scoring import Chunk
from seqkit.evaluation.surprise import Cell
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import Floats

MOST = 1 << 19
"""Symbols of a part that are worth reading for this."""
_SHOWN = 3  # cells of each trait


class Follower(NamedTuple):
    """A cell whose activation goes with a trait: their correlation (Pearson's) over all symbols."""

    trait: str
    cell: Cell
    correlation: float


@torch.inference_mode()
def search(
    model: CharRNN,
    part: Part,
    traits: Mapping[str, Floats],
    *,
    start: int,
    watch: Callable[[int], None] = lambda done: None,
) -> list[Follower]:
    """The cells that best follow each trait (N,) of a part (N,), the best first.

    The segments are those by which a training validates: `protocols.warmed`.
    """
    if not traits:
        return []
    columns = np.stack([*traits.values()], axis=1)
    sums = _Sums(model, torch.from_numpy(columns).double())
    done = 0
    segments = protocols.warmed(part)
    for chunk in scoring.chunks(model, part, start=start, segments=segments, precision="fp32"):
        done += sums.add(chunk)
        watch(done)
    correlations = sums.correlations()  # (cells, traits)
    found = []
    for number, trait in enumerate(traits):
        column = correlations[:, number]
        for row in np.argsort(-np.abs(column), kind="stable")[:_SHOWN].tolist():
            cell = Cell(*divmod(row, model.config.hidden_size))
            found.append(Follower(trait, cell, float(column[row])))
    return found


class _Sums:
    """What the correlations of C cells with K traits are computed from."""

    def __init__(self, model: CharRNN, traits: torch.Tensor) -> None:
        self._network = model.network(dtype=torch.float32)
        self._traits = (traits - traits.mean(0)) / traits.std(0, correction=0)
        layers, size = model.config.num_layers, model.config.hidden_size
        self._count = 0
        self._cells, self._squares = torch.zeros(2, layers, size, dtype=torch.float64)
        self._products = torch.zeros(layers, size, traits.shape[1], dtype=torch.float64)

    def add(self, chunk: Chunk) -> int:
        """Count a chunk's symbols; how many they are."""
        counted = torch.from_numpy(chunk.counted).to(chunk.nats.device)
        traits = self._traits[torch.from_numpy(chunk.places[chunk.counted])]
        for layer in range(len(self._cells)):  # one at a time, for the memory
            values = self._network.activations(chunk.trace, layer, slice(None))[counted]
            values = values.cpu().double()  # (n, H)
            self._cells[layer] += values.sum(0)
            self._squares[layer] += values.square().sum(0)
            self._products[layer] += values.T @ traits
        self._count += len(traits)
        return len(traits)

    def correlations(self) -> Floats:
        """(C, K); 0 for a cell that does not move."""
        mean = self._cells.flatten() / self._count
        deviation = (self._squares.flatten() / self._count - mean.square()).clamp(min=0).sqrt()
        # The traits have mean 0 and deviation 1.
        products = self._products.flatten(0, 1) / self._count
        moving = deviation > 1e-6
        found = torch.where(moving[:, None], products / deviation.clamp(min=1e-6)[:, None], 0.0)
        values: Floats = found.numpy()
        return values
