"""Samples while they are made: written to files, or printed to stdout."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from seqkit.commands.interrupts import Interrupts
from seqkit.commands.outputs import result_stream
from seqkit.foundation.console import Console
from seqkit.foundation.stdout import Product, to_bytes
from seqkit.foundation.wording import first_of
from seqkit.generation.medium import Medium
from seqkit.generation.sampler import Blocks, without_ended
from seqkit.symbols import Integers, Symbols


@dataclass
class Sample:
    """Where what follows a prompt goes, up to `length` symbols of each stream.

    What is drawn comes through `watched`, so that where `interrupts` are held, a signal ends it,
    and is raised when all is written. `document` is what a document was to the training,
    `data.document`.
    """

    medium: Medium
    prompt: Symbols
    length: int
    console: Console
    interrupts: Interrupts
    streams: int = 1
    document: str = "file"
    speed = ""
    """In words; empty as long as it is not known."""
    _bar = True

    def write_files(self, blocks: Blocks, files: list[Path], *, overwrite: bool) -> None:
        """Write each stream to its file while it is made. Files that would hold nothing go.

        Raises:
            OutputError: a file cannot be written, or the system allows fewer open ones.
        """
        count = 0
        with self.interrupts.held():
            with contextlib.ExitStack() as stack:
                writers = [stack.enter_context(self.medium.open(file, overwrite)) for file in files]
                if self.prompt.size:
                    for write in writers:
                        write(self.prompt)
                for block in blocks:
                    count += len(block)
                    for write, symbols in zip(writers, block.T, strict=True):
                        write(without_ended(symbols))
                if self.interrupts.received and not count and not self.prompt.size:
                    raise KeyboardInterrupt
            self._tell(files, count)

    def _tell(self, files: list[Path], count: int) -> None:
        """Tell that files of `count` symbols are written."""
        speed = f"; {self.speed}" if self.speed else ""
        early = count < self.length and self.interrupts.received
        written = "ended early, and can be used; written" if early else "written"
        self.console.notice(f"{written}: {first_of(files)}{speed}")

    def print_one(self, blocks: Blocks) -> None:
        """Write the prompt and one stream to stdout while it is made.

        A signal may come at any time: whoever reads stdout may not read on.
        """
        product = Product()
        product.write(self.medium.header)
        self._bar = not self.medium.printed or product.stored  # none beside text that is seen
        with contextlib.nullcontext() if self._bar else self.console.held():
            pieces = chain([self.prompt], (block[:, 0] for block in blocks))
            try:
                for content in self.medium.rendered(pieces):
                    product.write(content)
                    product.flush()
            finally:
                if self.speed and not self.medium.printed:
                    self.console.notice(f"generated at {self.speed}")
            product.end()

    def write_all(
        self, blocks: Blocks, file: Path | None = None, *, overwrite: bool = False
    ) -> None:
        """Write the streams one below the other, to stdout or a file; after a signal what there is.

        Those of a model that learnt lines are lines, and a list of documents ends with a line end.
        Raises OutputError as `result_stream` does.
        """
        between, count = "\n" if self.document == "line" else "\n\n", 0
        written: list[list[Symbols | Integers]] = [[self.prompt] for _ in range(self.streams)]
        with self.interrupts.held():
            for block in blocks:
                count += len(block)
                for pieces, symbols in zip(written, block.T, strict=True):
                    pieces.append(without_ended(symbols))
            with result_stream(file, overwrite=overwrite) as write:
                for index, pieces in enumerate(written):
                    write(to_bytes(between if index else ""))
                    for content in self.medium.rendered(pieces):
                        write(to_bytes(content))
                if self.document != "file" or (file is None and Product().terminal):
                    write(b"\n")
            if file is not None:
                self._tell([file], count)

    def watched(self, blocks: Blocks) -> Iterator[Integers]:
        """Hand on blocks until a signal comes, with a progress bar, and measure the speed."""
        blocks, done = self.interrupts.each(blocks), 0
        began: tuple[int, float] | None = None
        if not self._bar:
            yield from blocks
            return
        with self.console.progress("generate", self.length) as bar:
            for block in blocks:
                yield block
                done += len(block)
                if began is None and done > 1:  # the first symbol needs no step of the engine
                    began = done, time.monotonic()
                elif began is not None:
                    rate = (done - began[0]) / max(time.monotonic() - began[1], 1e-9)
                    self.speed = self.medium.speed(rate, self.streams)
                    bar.update(done, self.speed)
