"""What a command line names, looked for before PyTorch is imported, which takes seconds."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from seqkit.commands import COMMANDS, outputs, reads
from seqkit.config import Config
from seqkit.data import files, pipes, remote
from seqkit.data.sound.reader import Reader
from seqkit.foundation import disk, processes
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.runs import known, layout, search

_OF_RUNS = ("checkpoint", "run_dir", "runs")  # keys that name a run, or several


def refuse_bare_paths(command: str, words: Sequence[str]) -> None:
    """Raise ConfigError where files or folders are given without their keys, which are named."""
    paths = [word for word in words if "=" not in word and os.path.lexists(word)]
    keys = [_key_of(command, Path(path)) for path in paths]
    meant = [f"{key}={path}" for key, path in zip(keys, paths, strict=True) if key]
    if not meant:
        return
    folders = {Path(path).parent for path in paths}
    if command == "compare" and len(paths) > 1 == len(folders):  # a glob that the shell expanded
        meant = [f"runs={folders.pop()}"]
    if command == "train" and "run_dir" in keys:
        meant.append("resume=auto")
    raise ConfigError(f"{' and '.join(paths)} without a key: did you mean {shlex.join(meant)}?")


def _key_of(command: str, path: Path) -> str:
    """The key of a command that a path was probably meant for; empty if it takes none."""
    prompt = "prompt_audio" if files.is_named_as_sound(path.name) else "prompt_file"
    order = ["data.path", prompt, *_OF_RUNS]
    if path.suffix == ".safetensors" or layout.is_run(path) or layout.runs_below(path):
        order = [*_OF_RUNS, *order]
    return next((key for key in order if reads(command, key)), "")


def refuse_other_key(command: str, config: Config) -> None:
    """Raise ConfigError where run_dir= is given for checkpoint=, or checkpoint= for run_dir=."""
    for key, meant, enough in (
        ("run_dir", "checkpoint", config.checkpoint),
        ("checkpoint", "run_dir", config.run_dir or config.data.path),  # doctor takes one of them
    ):
        given = getattr(config, key)
        if given and not enough and reads(command, meant) and not reads(command, key):
            place = Path(given)
            if meant == "run_dir" and place.suffix == ".safetensors":
                place = place.parent.parent
            instead = shlex.quote(f"{meant}={place}")
            raise ConfigError(f"{command} does not read {key}: did you mean {instead}?")


def check(command: str, config: Config) -> None:
    """Look at what the keys name that the command `needs`: is it there, is `out` free?

    Whoever reads or writes it finds out the same, but later. A run that goes on may need none of
    it, and one that is in the way is told first. Several processes meet before any of them fails,
    or the others would wait for it.

    Raises:
        ConfigError: a key that the command cannot do without is not given, or names no runs.
        CheckpointError: there is no such checkpoint, or run.
        DataError: there is no such file of data or of a prompt, or it cannot be read.
        OutputError: the file of `out` exists, or cannot be made.
    """
    in_the_way = command == "train" and config.run_dir and layout.is_run(Path(config.run_dir))
    if in_the_way or config.resume != "never" or processes.place().size > 1:
        return
    for key in COMMANDS[command].needs:
        _CHECKS[key](config)


def _checkpoint(config: Config) -> None:
    layout.named_checkpoint(config.checkpoint)


def _init_from(config: Config) -> None:
    if config.init_from is not None:
        layout.find_checkpoint(Path(config.init_from), "init_from")


def refuse_column(config: Config) -> None:
    """Raise ConfigError for data.column= where no column is read, but all that files hold."""
    if not config.data.of_rows:
        raise ConfigError(
            f"data.column={config.data.column}: with data.kind={config.data.kind} files are read "
            "as they are: give data.kind=hf, too"
        )


def _out(config: Config) -> None:
    if config.streams == 1:  # else it is not known yet whether so many have a place in memory
        outputs.result_file(config)


def _run_dir(config: Config) -> None:
    if config.run_dir and not config.data.path:  # doctor takes one of them
        known.require_run(Path(config.run_dir))


def _runs(config: Config) -> None:
    search.find(config.runs)


def _data_path(config: Config) -> None:
    if config.data.of_rows:  # what a name stands for, the library finds out
        return
    files.check_literal(config.data)
    pipes.check_kept(config.data.path, disk.cache_dir())
    for path in config.data.path:
        if not (pipes.is_pipe(path) or remote.is_remote(path)):
            files.is_folder(Path(path))


def _prompt_file(config: Config) -> None:
    path = config.prompt_file
    if path is None or pipes.is_pipe(path):
        return
    try:
        files.is_folder(Path(path))
    except DataError as error:
        raise DataError(f"prompt_file={error}") from error


def _prompt_audio(config: Config) -> None:
    path = config.prompt_audio
    if path is None:
        return
    if pipes.is_pipe(path):
        raise DataError(f"prompt_audio={path}: no file of sound: it has to be a file, no stream")
    Reader(Path(path))


_CHECKS = {
    "checkpoint": _checkpoint,
    "data.path": _data_path,
    "init_from": _init_from,
    "out": _out,
    "prompt_audio": _prompt_audio,
    "prompt_file": _prompt_file,
    "run_dir": _run_dir,
    "runs": _runs,
}
