"""What `--help` prints, and what is said of words that are no command or lack a key."""

import os
from collections.abc import Mapping
from pathlib import Path

import seqkit
from seqkit.commands import COMMANDS, reads
from seqkit.compose.recipes import described
from seqkit.config import options
from seqkit.foundation import dropped
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import KEYED, allowed_values, default_of, nearest

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


def overview(config_dirs: list[Path]) -> str:
    """Commands, recipes, examples and options."""
    summaries = {name: command.summary for name, command in COMMANDS.items()}
    return _HELP.format(
        version=seqkit.__version__,
        commands=_table(summaries, 22),
        recipes=_table(described(config_dirs), 22),
        options=_table(_OPTIONS, 18),
    )


def keys(command: str) -> str:
    """The keys that a command reads."""
    meanings, rows = COMMANDS[command].meanings, {}
    for name, item in options():
        if reads(command, name):
            default = default_of(item)
            allowed = f" ({values})" if (values := allowed_values(item)) else ""
            shown = "" if default in (None, "", []) else f" [{default}]"
            rows[name] = meanings.get(name, item.metadata["help"]) + allowed + shown
    usage = f"usage: python -m seqkit {command} key=value ..."
    example = f"example: python -m seqkit {COMMANDS[command].example}"
    return f"{usage}\n{example}\n\n{COMMANDS[command].summary}\n\n{_table(rows, 26)}"


def refuse_unknown(word: str) -> None:
    """Raise ConfigError where a word is no command: it names the nearest one."""
    if word not in COMMANDS:
        if word in dropped.COMMANDS:
            raise ConfigError(f"{word}: that command is gone: {dropped.COMMANDS[word]}")
        if os.path.lexists(word):
            raise ConfigError(f"{word} is no command: {KEYED}")
        names = list(COMMANDS)
        there = f"There are: {', '.join(names)}"
        raise ConfigError(f"unknown command {word}{nearest(word, names)} {there}")


def _table(rows: Mapping[str, str], width: int) -> str:
    """Names, in so many columns, and what they mean, each in a line."""
    return "\n".join(f"  {name:{width}}{text}" for name, text in rows.items())
