"""Where generated symbols go: to stdout as they are made, or to files."""

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from seqkit import disk, stdout
from seqkit.commands.interrupts import Interrupts
from seqkit.config import Config
from seqkit.console import Console, Product
from seqkit.errors import ConfigError, OutputError
from seqkit.generation.engine import Blocks
from seqkit.generation.medium import Medium
from seqkit.progress_line import Reading, rounded
from seqkit.symbols import Integers, Symbols

_MANY = 8  # files, of which the first and the last are told
_OTHER_FILES = 256  # that the process may have open
_FEWEST_OTHER_FILES = 64


def free_files(config: Config) -> list[Path]:
    """The files of `out`, one for each stream: NAME, or NAME_1 … NAME_S; none for stdout.

    Raises:
        ConfigError: `out` is no name of a file.
        OutputError: a file exists, or cannot be made.
    """
    if config.out is None or config.out == "-":
        return []
    out = Path(config.out)
    if not out.name:
        raise ConfigError(f"out={config.out}: give the name of a file")
    _allow_open_files(config.streams)
    files = numbered(out, config.streams)
    for file in files:
        if file.is_dir():
            raise OutputError(f"{file} is a folder: give the name of a file")
        if file.exists() and not file.is_file():
            raise OutputError(f"{file} is no regular file: give the name of one, or out=-")
        if file.exists() and not config.overwrite:
            raise disk.exists_error(file)
        if not file.parent.is_dir():
            raise OutputError(f"{file}: there is no folder {file.parent}")
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{out}: {out.parent.absolute()} is a folder that cannot be written to")
    return files


def result_file(config: Config) -> Path | None:
    """The file of `out` for a command's result, None for stdout. Raises as `free_files` does."""
    files = free_files(dataclasses.replace(config, streams=1))
    return files[0] if files else None


def write_result(out: Path | None, text: str, *, overwrite: bool) -> None:
    """Write a command's result, a line or a table, to its file or to stdout.

    Raises:
        OutputError: the file is there by now, and `overwrite` is false.
    """
    if out:
        with disk.atomic_write(out, overwrite) as stream:
            stream.write((text + "\n").encode())
    else:
        print_lines([text])


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


def print_lines(lines: Iterable[str]) -> None:
    """Write lines to stdout, the names of files byte for byte."""
    product = Product()
    product.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    product.flush()


def print_names(files: Iterable[Path]) -> None:
    """Print the names of files that were made and told, if there is a stdout."""
    if stdout.stream() is not None:
        print_lines(map(str, files))


def numbered(out: Path, streams: int) -> list[Path]:
    """`out` for one stream, else one name for each."""
    if streams == 1:
        return [out]
    digits = len(str(streams))
    return [out.with_stem(f"{out.stem}_{n:0{digits}}") for n in range(1, streams + 1)]


def new_files(folder: Path, streams: int, suffix: str) -> list[Path]:
    """New files generated_N in a folder, which is made. Raises OutputError.

    They are there, empty, when this returns: a process that runs beside this one takes other names.
    """
    disk.make_folder(folder)
    number = 0
    while True:
        number += 1
        files = numbered(folder / f"generated_{number}{suffix}", streams)
        try:
            if not any(folder.glob(f"generated_{number}[._]*")) and disk.reserve(files):
                return files
        except OSError as error:
            raise OutputError(f"{folder}: cannot be read: {disk.describe(error)}") from error


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

    A signal ends the symbols; the files are finished before it is raised.

    Raises:
        OutputError: a file cannot be written; or, before any is made, they are too many.
    """
    _allow_open_files(len(files))
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
        speed = f"; {pace.speed}" if pace.speed else ""
        shown = f"{files[0]} … {files[-1]}" if len(files) > _MANY else ", ".join(map(str, files))
        written = "written"
        if made < length and interrupts.received:
            what = "files end" if len(files) > 1 else "file ends"
            written = f"interrupted: the {what} early, and can be used; written"
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


def _allow_open_files(count: int) -> None:
    """Ask the system for so many open files, where it has a limit that the user may raise.

    Raises:
        OutputError: it does not allow so many.
    """
    with contextlib.suppress(ImportError, OSError, ValueError):  # POSIX only
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = count + _OTHER_FILES
        if hard != resource.RLIM_INFINITY:
            if count > (most := max(1, hard - _FEWEST_OTHER_FILES)):
                raise OutputError(
                    f"streams={count}: this system lets a process open {hard} files: "
                    f"give at most streams={most}"
                )
            wanted = min(wanted, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _shown(blocks: Blocks, pace: "_Pace", length: int, console: Console) -> Iterator[Integers]:
    """Hand on blocks, with a progress bar."""
    done = 0
    with console.progress("generate", length) as bar:
        for block in blocks:
            yield block
            done += len(block)
            pace.note(done)
            if pace.speed:
                bar.update(done, Reading(pace.speed, pace.brief))


class _Pace:
    """How fast symbols are made, without the time that it takes to set up."""

    def __init__(self, medium: Medium, streams: int) -> None:
        self._medium = medium
        self._streams = streams
        self._begun: tuple[int, float] | None = None
        self.speed = ""
        """In words; empty as long as it is not known."""
        self.brief = ""

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
            self.brief = f"{rounded(rate * self._streams)}/s"
