"""Where a command's result goes: the files that `out` names, or stdout."""

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from seqkit.foundation import disk, stdout
from seqkit.foundation.errors import ConfigError, OutputError
from seqkit.foundation.run_folders import is_run
from seqkit.foundation.stdout import Product


def free_files(
    asked: str | None, read: Iterable[str | None], *, overwrite: bool, streams: int = 1
) -> list[Path]:
    """The files of `out`, one for each stream: NAME, or NAME_1 … NAME_S; none for stdout.

    Args:
        asked: the key `out`.
        read: the files that the command reads.
        overwrite: whether a file may be there.
        streams: S.

    Raises:
        ConfigError: `out` is no name of a file.
        OutputError: a file exists, is what the command reads or what no command may write over, or
            cannot be made.
    """
    if asked is None or asked == "-":
        return []
    out = Path(asked)
    if not out.name:
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

    Raises:
        OutputError: the file is there by now, and `overwrite` is false.
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
    if stdout.stream() is not None:
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
