"""Steps of several symbols: a step reads the P symbols of a frame, and writes those of the next.

    x_n            of each of the P symbols of frame n - 1 a row, added up
    h_n            of the layers, as ever
    z_{n,p}      = relu(W_p h_n + a_p + rows of the symbols 0 … p - 1 of frame n, added up)
    logits_{n,p} = W'_p z_{n,p} + b_p

So each symbol is given all before it, and the likelihood is exact. Rows of symbols stay flat,
(T, B): the last symbol of a frame makes a step, and each one after it is added to what the next is
written from. A row may be cut anywhere: `State.frame` holds the symbols of the frame under way.

Symbols are counted from 1 here; 0 is none, before a document begins.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqkit.config import ModelConfig
from seqkit.model.state import fed_of

SPREAD = 0.2
"""Of the rows of a new network that are added to W h."""


class FrameHead(nn.Module):
    """The parameters that make z of h.

    hidden: W (P M, H) and a (P M,), M the size of z.
    drawn: the rows of symbols, ((P - 1) V, M).
    """

    def __init__(self, config: ModelConfig) -> None:
        """The rows of symbols are zeros: `CharRNN` draws them."""
        super().__init__()
        places, rows, size = config.frame, config.vocabulary_size, config.head_size
        self.hidden = nn.Linear(config.hidden_size, places * size)
        self.drawn = nn.Parameter(torch.zeros((places - 1) * rows, size))


class FrameWeights(NamedTuple):
    """The parameters of a `FrameHead` as they run."""

    weight: Tensor
    bias: Tensor
    drawn: Tensor

    def logits(self, h: Tensor, steps: "Steps", weight: Tensor, bias: Tensor) -> Tensor:
        """What follows each input, (T, B, V).

        Args:
            h: (N, B, H).
            steps: what was read.
            weight: W' (P V, M).
            bias: b (P V,).
        """
        places = steps.grid.shape[-1]
        z = F.linear(h, self.weight, self.bias).view(*h.shape[:2], places, -1)  # (N, B, P, M)
        added = _rows_of_places(steps.grid[..., 1:].sub(1).clamp(min=0), self.drawn)
        z = z + F.pad(added.cumsum(-2), (0, 0, 1, 0))
        head = weight.view(places, -1, weight.shape[1])
        logits = torch.einsum("nbpm,pvm->npbv", z.relu(), head)
        logits = logits + bias.view(places, 1, -1)
        return logits.flatten(0, 1)[steps.fed : steps.fed + steps.inputs]


def _rows_of_places(symbols: Tensor, table: Tensor) -> Tensor:
    """Of symbols (N, B, P) the rows (N, B, P, M) in a table (P V, M)."""
    of_places = table.view(symbols.shape[-1], -1, table.shape[1])
    if not table.is_cuda:
        return F.embedding(rows_of(symbols, of_places.shape[1]), table)
    # On a GPU a product has a faster gradient than a look-up, and needs no atomics.
    shape = *symbols.shape, of_places.shape[1]
    chosen = torch.zeros(shape, dtype=table.dtype, device=table.device)
    return torch.einsum("nbpv,pvm->nbpm", chosen.scatter_(-1, symbols[..., None], 1), of_places)


class Steps(NamedTuple):
    """Inputs (T, B) as N steps, the first of which was made before if `fed`.

    grid (N, B, P): of each step the symbol that makes it, the last of a frame, and those that
        follow it, as far as they are known.
    before (N - (fed > 0), B, P): the frame that each step reads that is yet to be made.
    after (1, B, …): `State.frame` after them.
    separators (N, B): at which the state is zeroed; or None.
    inputs: T.
    fed: inputs of the first step that came before.
    """

    grid: Tensor
    before: Tensor
    after: Tensor
    separators: Tensor | None
    inputs: int
    fed: int

    @classmethod
    def of(cls, symbols: Tensor, frame: Tensor, places: int, resets: Tensor | None) -> "Steps":
        """Arrange symbols (T, B) after `State.frame`; `places` is P.

        With resets (T, B) rows begin and end with whole steps, and a separator takes one.
        """
        fed = fed_of(frame, places)
        known = frame[0].T.to(symbols.dtype)
        rows = [F.pad(known, (0, 0, 1, 0)), symbols + 1] if fed else [symbols + 1]
        missing = -(fed + len(symbols)) % places
        flat = F.pad(torch.cat(rows), (0, 0, 0, missing))
        grid = flat.view(-1, places, flat.shape[1]).transpose(1, 2)
        inside, separators = grid[..., 1:], None
        if resets is not None:
            separators = resets[::places]
            inside = inside.masked_fill(separators[..., None], 0)
        previous = inside[:-1] if fed else torch.cat([known.T[None], inside[:-1]])
        before = torch.cat([previous, grid[int(fed > 0) :, :, :1]], -1)
        after = inside[-1:, :, : places - 1 - missing].to(frame.dtype)
        return cls(grid, before, after, separators, len(symbols), fed)

    def of_made(self, values: Tensor) -> Tensor:
        """Of values (T, …), which a frame has in common, those of each step yet to be made."""
        places = self.grid.shape[-1]
        return values[-self.fed % places :: places]


def rows_of(symbols: Tensor, size: int) -> Tensor:
    """Where symbols (…, P) stand in a table that has `size` rows for each of the P places."""
    return symbols + size * torch.arange(symbols.shape[-1], device=symbols.device)
