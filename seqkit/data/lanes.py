"""Lanes: a part of a corpus laid out for training, and the windows that are read from it."""

import itertools
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seqkit.data.corpus import Part
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.settings import check_type, check_whole_number
from seqkit.foundation.wording import counted
from seqkit.symbols import IGNORED, Symbols, uniforms

_FEWEST_STEPS = 8  # in an epoch, if need be with fewer lanes
_SHIFTS = 1 << 32  # a stream of draws that no sample has
_BLOCK = 1 << 24  # symbols copied to a device at a time


class Window(NamedTuple):
    """What one training step sees: inputs and targets (T, B), and where the state is zeroed.

    B counts the lanes that are shown, and the idle ones if there are any (see `Lanes.widen`).

    `targets[t]` follows `inputs[t]`; where there is none it is `IGNORED`. `fresh` (B,) marks the
    lanes that start from the zero state, `resets` (T, B) the separators between documents, without
    the target that ends a document; it is None where the part is one document. `labels` (T, B, K)
    are those of the targets' documents: see `Part`.
    """

    inputs: Tensor
    targets: Tensor
    fresh: Tensor
    resets: Tensor | None
    labels: Tensor | None = None


class _Grid(NamedTuple):
    """Where a window reads, on one device.

    places (T + 1, B): in the row, of the symbols of each lane's first window, and of the one before
        them.
    begins, ends (D,): of the documents in the row.
    idle (B,): the lanes that read nothing.
    """

    places: Tensor
    begins: Tensor
    ends: Tensor
    idle: Tensor


class Lanes:
    """A part laid out as B contiguous lanes that are read T symbols at a time.

    The documents stand one after the other with a separator between them, a place without a
    target at which the state is zeroed. Where a frame of sound has several symbols, a separator has
    as many places: so frames begin at multiples of that number, and lanes and windows do, too, also
    in a ring. A network that is trained on them never begins within a frame.

    Where ends are learnt, a separator begins with one place that has a target: the end of the
    document. It has two places at least, since a network gives no logits where its state is zeroed.
    The last document's end is none: a split may have cut it.

    This row is cut into B runs, the last one padded. So every symbol is a target exactly once in an
    epoch, nothing of one document reaches another, and a lane goes on from what it read in the step
    before. The input before a document's first symbol is the codec's start symbol.
    """

    def __init__(
        self,
        part: Part,
        start: int,
        batch_size: int,
        sequence_length: int,
        shift_seed: int | None = None,
        end: int | None = None,
    ) -> None:
        """`start` is the codec's start symbol; batch_size is B, sequence_length T, whole frames.

        With a `shift_seed` the row is read as a ring that each epoch enters at another place. `end`
        is the target where a document ends and another one follows, by default none.

        Raises:
            ConfigError: an argument of another type or too small, or windows that cut a frame.
            DataError: the part holds fewer than two windows.
        """
        check_type("part", part, Part)
        check_whole_number("start", start, 0)
        check_whole_number("batch_size", batch_size, 1)
        check_whole_number("sequence_length", sequence_length, 1)
        if sequence_length % part.frame:
            raise ConfigError(
                f"train.sequence_length={sequence_length}: a frame of this sound, which no window "
                f"may cut, has {part.frame} symbols: give a multiple of {part.frame}"
            )
        if len(part) < 2 * sequence_length:
            raise DataError(
                f"the training part has {len(part)} symbols, fewer than two windows of "
                f"{sequence_length} symbols, which are {2 * sequence_length}: give more data or a "
                "smaller train.sequence_length"
            )
        self.start = start
        """The codec's start symbol, which stands before a document."""
        self.sequence_length = sequence_length
        # Where each document begins and ends in the row: a separator before all but the first.
        # There may be a hundred million, so these two are the only arrays.
        self._end, self._shift_seed = end, shift_seed
        self._separator = part.frame if end is None else max(part.frame, 2)  # its places
        begins = self._separator * np.arange(len(part.starts))
        ends = np.append(part.starts[1:], len(part))
        ends += begins
        begins += part.starts
        # Its places without a target, and where these begin.
        self._silent = self._separator - (end is not None)
        self._separators = ends[:-1] if end is None else ends[:-1] + 1
        self._documents = torch.from_numpy(begins), torch.from_numpy(ends)
        self._length = int(ends[-1])
        windows = -(-(self._length + (shift_seed is not None)) // sequence_length)
        lanes = min(batch_size, max(1, windows // _FEWEST_STEPS))
        self.steps = -(-windows // lanes)
        """Windows that each lane reads in one epoch."""
        self.batch_size = -(-windows // self.steps)
        """B; less than was asked for where the part is small, so that lanes have state to carry."""
        self._ring = self.batch_size * self.steps * sequence_length
        self.has_separators = len(part.starts) > 1
        """Whether any window has resets."""
        self._part, self._last = part, len(part) - 1
        self._symbols: Tensor | None = None  # on a GPU; elsewhere each step reads its own
        self._labels = None if part.labels is None else torch.from_numpy(part.labels)  # (D, K)
        self._device = torch.device("cpu")  # where the windows are made
        self.share_out(0, 1)

    def count(self, step: int) -> int:
        """The targets of a step; steps run on through the epochs."""
        lanes = np.arange(self.batch_size) * self.steps + step % self.steps
        begins = (lanes * self.sequence_length + self.shift(step)) % self._ring
        ends = begins + self.sequence_length
        places = np.stack([begins, ends, ends - self._ring]).clip(0, self._length)
        # Of each, how many places of the row before it have a target.
        before = places - self._silent * np.searchsorted(self._separators, places)
        return int((before[1] - before[0] + before[2]).sum())

    def shift(self, step: int) -> int:
        """Where in the ring the epoch of this step begins."""
        if self._shift_seed is None:
            return 0
        drawn = uniforms(self._shift_seed, _SHIFTS, step // self.steps, 1)[0]
        return int(drawn * self._ring) // self._part.frame * self._part.frame

    def window(self, step: int | Tensor, shift: int | Tensor | None = None) -> Window:
        """The window of a step, made on the device of `move`; steps run on through the epochs.

        Where `step` is an int64 tensor of no dimension, so that a CUDA graph can replay this,
        `shift` is another: what the method `shift` returns for the step.
        """
        if shift is None:
            shift = self.shift(int(step))
        grid = self._grid
        places, index, document = self._read_by(step, shift)
        if self._symbols is None:
            values = _unsigned(_as_tensor(self._part.symbols[index.numpy()]))
        else:
            values = _unsigned(self._symbols[index])
        places, begins, ends = places[1:], grid.begins, grid.ends
        if document is not None:
            begins, ends = begins[document], ends[document]
        inputs = values[:-1].masked_fill(places == begins, self.start)
        over = (places >= ends) | grid.idle  # of a separator, or beyond the row
        targets = values[1:].masked_fill(over, IGNORED)
        if self._end is not None:
            is_end = (places == ends) & (places < self._length) & ~grid.idle
            targets.masked_fill_(is_end, self._end)
            over = over & ~is_end
        resets = None
        if self.has_separators:
            # In a ring the first document follows what is beyond the row, as after a separator.
            in_ring = self._shift_seed is not None
            resets = over if in_ring else over & (places < self._length)
        labels = self._labels
        if labels is not None:
            labels = labels[0].expand(*places.shape, -1) if document is None else labels[document]
        fresh = grid.idle | (step % self.steps == 0)
        return Window(inputs, targets, fresh, resets, labels)

    def _read_by(
        self, step: int | Tensor, shift: int | Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """What a step reads: places in the row and in the part (T + 1, B).

        And the document of each place but the first, (T, B), if there are several.
        """
        # Of every lane the T places that are predicted, and the one before them.
        grid = self._grid
        places = torch.add(grid.places, step % self.steps, alpha=self.sequence_length)
        if self._shift_seed is not None:
            places = (places + shift) % self._ring
        if not self.has_separators:
            return places, places.clamp(0, self._last), None
        document = (torch.searchsorted(grid.begins, places, right=True) - 1).clamp_(min=0)
        return places, (places - self._separator * document).clamp(0, self._last), document[1:]

    def share_out(self, rank: int, processes: int) -> None:
        """Show only this process's share of the lanes; counts and steps stay those of all B.

        Raises:
            ConfigError: there are more processes than lanes.
        """
        if processes > self.batch_size:
            raise ConfigError(
                f"{processes} processes cannot share {counted(self.batch_size, 'lane')}: start "
                "fewer, or give a larger train.batch_size (or more data)"
            )
        ends = [self.batch_size * number // processes for number in range(processes + 1)]
        shares = [range(begin, end) for begin, end in itertools.pairwise(ends)]
        self.shown = shares[rank]
        """Which of the B lanes the windows show: this process's."""
        self.widest = max(map(len, shares))
        """The most lanes that a process has."""
        self.widen(len(self.shown))

    def widen(self, width: int) -> None:
        """Make windows of so many lanes, the added ones idle: without targets, always fresh."""
        lane = torch.arange(width)
        begins = (lane + self.shown.start) * self.steps * self.sequence_length
        places = begins + torch.arange(-1, self.sequence_length)[:, None]
        grid = places, *self._documents, lane >= len(self.shown)
        self._grid = _Grid(*(values.to(self._device) for values in grid))

    def move(self, device: torch.device) -> None:
        """Make the windows on a GPU, and keep the symbols there."""
        self._device = device
        self._grid = _Grid(*(values.to(device) for values in self._grid))
        self._labels = None if self._labels is None else self._labels.to(device)
        row = self._part.symbols
        self._symbols = torch.empty(len(row), dtype=_as_tensor(row[:1]).dtype, device=device)
        for begin in range(0, len(row), _BLOCK):
            self._symbols[begin : begin + _BLOCK] = _as_tensor(row[begin : begin + _BLOCK])


class Windows:
    """The window of one step after the other, made by tensors only: a CUDA graph can replay it."""

    def __init__(self, lanes: Lanes, device: torch.device, width: int) -> None:
        """The windows of `lanes` have so many lanes from now on, and are made on the device."""
        lanes.widen(width)
        self._lanes = lanes
        self._step, self._shift = torch.zeros((2,), dtype=torch.int64, device=device).unbind()
        if device.type == "cuda":
            lanes.move(device)

    def set_step(self, step: int) -> int:
        """Make `current` that of this step from now on; returns how many targets it has."""
        self._step.fill_(step)
        self._shift.fill_(self._lanes.shift(step))
        return self._lanes.count(step)

    def current(self) -> Window:
        """The window of the step."""
        return self._lanes.window(self._step, self._shift)


def _unsigned(values: Tensor) -> Tensor:
    """As int64 what `_as_tensor` reads as signed."""
    size = values.element_size()
    return values.long() & (2 ** (8 * size) - 1) if size > 1 else values.long()


def _as_tensor(symbols: Symbols) -> Tensor:
    """The symbols as a tensor, over the same memory if it may be written to, read as signed.

    PyTorch indexes no unsigned numbers of several bytes on a GPU.
    """
    kind = {1: np.uint8, 2: np.int16, 4: np.int32}[symbols.itemsize]
    return torch.from_numpy(np.require(symbols, requirements="W").view(kind))
