"""Where results go, and samples while they are made: to the files of `out`, or to stdout."""

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from seqkit.commands.interrupts import Interrupts
from seqkit.foundation import disk, stdout
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError, OutputError
from seqkit.foundation.run_folders import is_run
from seqkit.foundation.stdout import Product, to_bytes
from seqkit.foundation.wording import first_of
from seqkit.generation.medium import Medium
from seqkit.generation.sampler import Blocks, without_ended
from seqkit.symbols import Integers, Symbols


def free_files(
    asked: str | None, read: Iterable[str | None], *, overwrite: bool, streams: int = 1
) -> list[Path]:
    """The files of `out`, one for each stream: NAME, or NAME_1 … NAME_S; none for stdout.

    `read` are the files that the command reads; with `overwrite` a file may be there.

    Raises:
        ConfigError: `out` is no name of a file.
        OutputError: a file exists, is what the command reads or what no command may write over, or
            cannot be made.
    """
    if asked is None or asked == "-":
        return []
    out = Path(asked)
    if not out.name or asked.endswith("/"):
        raise ConfigError(f"out={asked}: give the name of a file")
    files, names = numbered(out, streams), [name for name in read if name]
    for file in files:
        if file.exists() and not file.is_file():
            raise OutputError(f"{file} is no regular file: give the name of one, or out=-")
        for name in names:
            with contextlib.suppress(OSError, ValueError):  # one is not there, or no file's name
                if file.samefile(name):
                    raise OutputError(f"out={file} is what is read: give another name")
        refuse_in_run(file)
        if file.exists() and not overwrite:
            raise disk.exists_error(file)
    if not out.parent.is_dir():
        raise OutputError(f"{out}: there is no folder {out.parent}")
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{out}: {out.parent.absolute()} is a folder that cannot be written to")
    return files


def result_file(asked: str | None, read: Iterable[str | None], *, overwrite: bool) -> Path | None:
    """The file of `out` for a command's result, None for stdout; arguments as of `free_files`.

    Raises OutputError where stdout is closed, and else as `free_files` does.
    """
    out = next(iter(free_files(asked, read, overwrite=overwrite)), None)
    if out is None:
        stdout.existing()
    return out


def refuse_in_run(out: Path) -> None:
    """Raise OutputError where `out` lies in a run, links followed, and not in its samples."""
    place = out.resolve()
    for folder in (place, *place.parents):
        if is_run(folder) and place.relative_to(folder).parts[:1] != ("samples",):
            raise OutputError(
                f"out={out} lies in the run {folder}: give another folder, or the run's samples/"
            )


def write_result(out: Path | None, text: str, *, overwrite: bool) -> None:
    """Write a command's result, a line or a table, to its file or to stdout.

    Raises OutputError: the file is there by now, and `overwrite` is false.
    """
    with result_stream(out, overwrite=overwrite) as write:
        write(f"{text}\n".encode("utf-8", "surrogateescape"))


@contextlib.contextmanager
def result_stream(out: Path | None, *, overwrite: bool) -> Iterator[Callable[[bytes], object]]:
    """What takes a command's result part by part; a file is whole or absent."""
    if out:
        with disk.atomic_write(out, overwrite) as stream:
            yield stream.write
    else:
        product = Product()
        yield product.write
        product.flush()


def print_names(files: Iterable[Path]) -> None:
    """Print the names of files that were made and told, if there is a stdout."""
    if sys.__stdout__ is not None:
        stdout.write("\n".join(map(str, files)))


def numbered(out: Path, streams: int) -> list[Path]:
    """`out` for one stream, else one name for each."""
    if streams == 1:
        return [out]
    digits = len(str(streams))
    return [out.with_stem(f"{out.stem}_{n:0{digits}}") for n in range(1, streams + 1)]


def new_files(folder: Path, streams: int, suffix: str) -> list[Path]:
    """Names generated_N that nothing in a folder has, which is made. Raises OutputError."""
    disk.make_folder(folder)
    names = [re.match(r"generated_(\d+)[._]", file.name) for file in folder.iterdir()]
    number = max((int(name[1]) for name in names if name), default=0) + 1
    return numbered(folder / f"generated_{number}{suffix}", streams)


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
    _begun = 0.0

    def write_files(self, blocks: Blocks, files: list[Path], *, overwrite: bool) -> None:
        """Write each stream to its file while it is made. Files that would hold nothing go.

        Raises OutputError: a file cannot be written, or the system allows fewer open ones.
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
        speed = ""
        if self._begun:  # takes were compared since they were drawn, and loops cut
            seconds = max(time.monotonic() - self._begun, 1e-9)
            speed = f"; {self.medium.speed(count / seconds, self.streams)}"
        early = count < self.length and self.interrupts.received
        written = "ended early, and can be used; written" if early else "written"
        self.console.notice(f"{written}: {first_of(files)}{speed}")

    def print_one(self, blocks: Blocks) -> None:
        """Write the prompt and one stream to stdout while it is made.

        A signal may come at any time: whoever reads stdout may not read on.
        """
        product = Product()
        product.write(self.medium.header())
        self._bar = not self.medium.printed  # none beside text that is seen
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
        if not self._bar:
            yield from blocks
            return
        self._begun = time.monotonic()
        with self.console.progress("generate", self.length) as bar:
            for block in blocks:
                yield block
                done += len(block)
                rate = done / max(time.monotonic() - self._begun, 1e-9)
                self.speed = self.medium.speed(rate, self.streams)
                bar.update(done, self.speed)
