"""Samples while they are made: written to files, or printed to stdout."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from seqkit.commands.interrupts import Interrupts
from seqkit.commands.outputs import allow_open_files
from seqkit.foundation import disk
from seqkit.foundation.console import Console
from seqkit.foundation.stdout import Product
from seqkit.generation.engine import Blocks
from seqkit.generation.medium import Medium
from seqkit.symbols import Integers, Symbols

_MANY = 8  # files, of which the first and the last are told


@contextlib.contextmanager
def removed_if_empty(files: list[Path], medium: Medium) -> Iterator[None]:
    """Remove those of this process's own files to which nothing was written, if the block fails."""
    try:
        yield
    except BaseException:
        for file in files:
            with contextlib.suppress(OSError):
                if file.stat().st_size <= len(medium.header):
                    disk.remove(file)
        raise


def write_files(
    blocks: Blocks,
    medium: Medium,
    prompt: Symbols,
    files: list[Path],
    *,
    length: int,
    overwrite: bool,
    interrupts: Interrupts,
    console: Console,
) -> None:
    """Write each stream to its file while it is made, after the prompt.

    A signal ends the symbols; the files are finished before it is raised. Those that would hold
    nothing are removed.

    Raises:
        OutputError: a file cannot be written; or, before any is made, they are too many.
    """
    allow_open_files(len(files))
    pace, made = _Pace(medium, len(files)), 0
    with interrupts.held():
        with contextlib.ExitStack() as stack:
            writers = [stack.enter_context(medium.open(file, overwrite)) for file in files]
            if prompt.size:
                for write in writers:
                    write(prompt)
            for block in _shown(interrupts.each(blocks), pace, length, console):
                made += len(block)
                for write, symbols in zip(writers, block.T, strict=True):
                    write(symbols)
            if interrupts.due and not made and not prompt.size:
                raise KeyboardInterrupt
        speed = f"; {pace.speed}" if pace.speed else ""
        shown = f"{files[0]} … {files[-1]}" if len(files) > _MANY else ", ".join(map(str, files))
        written = "written"
        if made < length and interrupts.due:  # else as many were made as were to be
            what = "files end" if len(files) > 1 else "file ends"
            written = f"the {what} early, and can be used; written"
        console.notice(f"{written}: {shown}{speed}")


def print_stream(
    blocks: Blocks, medium: Medium, prompt: Symbols, length: int, console: Console
) -> None:
    """Write the prompt and one stream to stdout while it is made.

    A signal may come at any time: whoever reads stdout may not read on.
    """
    product, pace, render = Product(), _Pace(medium, 1), medium.renderer()
    product.write(medium.header)
    product.write(render(prompt))
    product.flush()
    try:
        beside = medium.printed and not product.stored  # no bar beside text that is seen
        for block in blocks if beside else _shown(blocks, pace, length, console):
            product.write(render(block[:, 0]))
            product.flush()
    finally:
        if pace.speed and not medium.printed:
            console.notice(f"generated at {pace.speed}")
    product.end()


def print_streams(
    blocks: Blocks,
    medium: Medium,
    prompt: Symbols,
    streams: int,
    *,
    length: int,
    interrupts: Interrupts,
    console: Console,
) -> None:
    """Write several streams to stdout, one below the other; after a signal as far as they came."""
    made: list[list[str | bytes]] = [[] for _ in range(streams)]
    pace, render = _Pace(medium, streams), medium.renderer()  # of text, which keeps nothing
    with interrupts.held():
        for block in _shown(interrupts.each(blocks), pace, length, console):
            for pieces, symbols in zip(made, block.T, strict=True):
                pieces.append(render(symbols))
        product = Product()
        for index, pieces in enumerate(made):
            product.write("\n\n" if index else "")
            product.write(render(prompt))
            for piece in pieces:
                product.write(piece)
        product.end()


def _shown(blocks: Blocks, pace: "_Pace", length: int, console: Console) -> Iterator[Integers]:
    """Hand on blocks, with a progress bar."""
    done = 0
    with console.progress("generate", length) as bar:
        for block in blocks:
            yield block
            done += len(block)
            pace.note(done)
            if pace.speed:
                bar.update(done, pace.speed)


class _Pace:
    """How fast symbols are made, without the time that it takes to set up."""

    def __init__(self, medium: Medium, streams: int) -> None:
        self._medium = medium
        self._streams = streams
        self._begun: tuple[int, float] | None = None
        self.speed = ""
        """In words; empty as long as it is not known."""

    def note(self, done: int) -> None:
        """So many symbols of each stream are done."""
        now = time.monotonic()
        if done == 1:
            return  # the first symbol needs no step: the engine has yet to set up
        if self._begun is None:
            self._begun = (done, now)
        else:
            first, begun = self._begun
            rate = (done - first) / max(now - begun, 1e-9)
            self.speed = self._medium.speed(rate, self._streams)
