"""What `--help` prints, and what is said of words that are no command or lack a key."""

import os
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import seqkit
from seqkit.commands import COMMANDS, reads
from seqkit.config import options
from seqkit.foundation import plugins, stdout
from seqkit.foundation.checkpoint_files import is_run
from seqkit.foundation.console import terminal_columns
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.plugins import Catalogue
from seqkit.foundation.settings import default_of, nearest
from seqkit.runs import layout

_HELP = """\
seqkit {version}: sequence models of text and sound, symbol by symbol.

usage: python -m seqkit [COMMAND] key=value ...

commands:
{commands}

recipes:
{recipes}

examples:
  python -m seqkit recipe=shakespeare
  python -m seqkit recipe=shakespeare data.path=my.txt model.hidden_size=256
  python -m seqkit recipe=shakespeare run_dir=runs/a resume=auto
  python -m seqkit generate checkpoint=runs/a prompt="ROMEO:" length=300
  python -m seqkit evaluate checkpoint=runs/a data.path=play.txt
  python -m seqkit recipe=my_sound data.path=take.wav
  python -m seqkit generate checkpoint=runs/b seconds=5 out=five.wav
  python -m seqkit bench shape=mycaffe
  python -m seqkit --multirun recipe=shakespeare model.num_layers=1,2,3

options:
{options}"""
_OPTIONS = {
    "--config-dir DIR": "look for recipes (NAME.yaml) in DIR, too; they come before seqkit's own",
    "--multirun, -m": "run every combination of the values given as key=a,b,c",
    "--cfg": "print the composed config and stop",
    "--version": "print the version, as `version` does",
    "--help, -h": "this text, as `help` does; after a command: the keys that it reads",
}


def overview(config_dirs: list[Path], words: list[str]) -> str:
    """Commands, recipes (those of plug-ins among the words, too), examples and options."""
    recipes = plugins.recipes(Catalogue(plugins.take_modules(words)[1]), config_dirs)
    summaries = {name: command.summary for name, command in COMMANDS.items()}
    return _HELP.format(
        version=seqkit.__version__,
        commands=_table(summaries, 22),
        recipes=_table(recipes, 22),
        options=_table(_OPTIONS, 18),
    )


def keys(command: str) -> str:
    """The keys that a command reads."""
    meanings, rows = COMMANDS[command].meanings, {}
    for name, item in options():
        if reads(command, name):
            default = default_of(item)
            shown = "" if default in (None, "", []) else f" [{default}]"
            if choices := item.metadata["choices"]:
                shown = f" ({', '.join(choices)}){shown}"
            rows[name] = meanings.get(name, item.metadata["help"]) + shown
    usage = f"usage: python -m seqkit {command} key=value ..."
    return f"{usage}\n\n{COMMANDS[command].summary}\n\n{_table(rows, 26)}"


def refuse_unknown(word: str) -> None:
    """Raise ConfigError where a word is no command: it names the nearest ones."""
    if word not in COMMANDS:
        refuse_bare_paths("train", [word])
        names = list(COMMANDS)
        there = f"There are: {', '.join(names)}"
        raise ConfigError(f"unknown command {word}{nearest(word, names)} {there}")


def refuse_bare_paths(command: str, words: Sequence[str]) -> None:
    """Raise ConfigError where files or folders are given without their keys, which are named."""
    paths = [word for word in words if "=" not in word and os.path.lexists(word)]
    keys = [_key_of(command, Path(path)) for path in paths]
    meant = [f"{key}={path}" for key, path in zip(keys, paths, strict=True) if key]
    if meant:
        raise ConfigError(f"{' and '.join(paths)} without a key: did you mean {shlex.join(meant)}?")


def _key_of(command: str, path: Path) -> str:
    """The key of a command that a path was probably meant for; empty if it takes none."""
    from seqkit.data import file_search  # which imports PyTorch

    prompt = "prompt_audio" if file_search.is_named_as_sound(path.name) else "prompt_file"
    of_data, of_runs = ("data.path", prompt), ("checkpoint", "run_dir", "runs")
    is_model = path.suffix == ".safetensors" or is_run(path) or layout.runs_below(path)
    order = (*of_runs, *of_data) if is_model else (*of_data, *of_runs)
    return next((key for key in order if reads(command, key)), "")


def _table(rows: Mapping[str, str], width: int) -> str:
    """Names, in so many columns, and what they mean; on a terminal, within its columns."""
    lines = [f"  {name:{width}}{text}" for name, text in rows.items()]
    columns = terminal_columns(stdout.stream())
    if columns is None:
        return "\n".join(lines)
    indent = " " * min(width + 2, columns // 2)
    return "\n".join(
        textwrap.fill(
            line,
            columns,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in lines
    )
