"""Keys that were probably meant, where a path has none, or another one."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from seqkit.commands import COMMANDS, reads
from seqkit.config import Config
from seqkit.foundation.checkpoint_files import is_run
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import nearest
from seqkit.runs import layout

_OF_RUNS = ("checkpoint", "run_dir", "runs")  # keys that name a run, or several


def command(word: str) -> str:
    """What is said of a word that is no command."""
    path = Path(word)
    if is_run(path):
        return (
            f"{word} is no command, but there is a run of that name: generate checkpoint={word} "
            f"lets it write, run_dir={word} resume=auto goes on"
        )
    if path.exists():
        return (
            f"{word} is no command, but there is something of that name: to learn from it, give "
            f"data.path={word} and a recipe; --help lists them"
        )
    names = list(COMMANDS)
    return f"unknown command {word}{nearest(word, names)} There are: {', '.join(names)}"


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
    from seqkit.data import file_search  # with it comes PyTorch, which takes a second

    prompt = "prompt_audio" if file_search.is_named_as_sound(path.name) else "prompt_file"
    order = ["data.path", prompt, *_OF_RUNS]
    if path.suffix == ".safetensors" or is_run(path) or layout.runs_below(path):
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
