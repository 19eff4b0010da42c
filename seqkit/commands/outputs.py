"""Where a command's result goes: the files that `out` names, or stdout."""

import contextlib
import dataclasses
import os
import resource
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from seqkit.config import Config
from seqkit.foundation import disk, stdout
from seqkit.foundation.checkpoint_files import is_run
from seqkit.foundation.errors import ConfigError, OutputError
from seqkit.foundation.stdout import Product

_OTHER_FILES = 256  # that the process may have open
_FEWEST_OTHER_FILES = 64


def free_files(config: Config) -> list[Path]:
    """The files of `out`, one for each stream: NAME, or NAME_1 … NAME_S; none for stdout.

    Raises:
        ConfigError: `out` is no name of a file.
        OutputError: a file exists, is what the command reads or what no command may write over, or
            cannot be made.
    """
    if config.out is None or config.out == "-":
        return []
    out = Path(config.out)
    if not out.name:
        raise ConfigError(f"out={config.out}: give the name of a file")
    allow_open_files(config.streams)
    files = numbered(out, config.streams)
    for file in files:
        if file.is_dir():
            raise OutputError(f"{file} is a folder: give the name of a file")
        if file.exists() and not file.is_file():
            raise OutputError(f"{file} is no regular file: give the name of one, or out=-")
        _check_not_read(file, config)
        refuse_in_run(file)
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


def _check_not_read(file: Path, config: Config) -> None:
    """Raise OutputError where `out` is a file that the command reads; `overwrite` does not help."""
    named = (config.checkpoint, config.prompt_file, config.prompt_audio, *config.data.path)
    for read in filter(None, named):
        with contextlib.suppress(OSError, ValueError):  # one is not there, or no name of a file
            if file.samefile(read):
                raise OutputError(f"out={file} is what is read: give another name")


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


def allow_open_files(count: int) -> None:
    """Ask the system for so many open files, where it has a limit that the user may raise.

    Raises:
        OutputError: it does not allow so many.
    """
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
