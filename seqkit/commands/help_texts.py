"""What `--help` prints: the commands and recipes, or the keys of a command."""

from pathlib import Path

import seqkit
from seqkit import commands, plugins, recipe_files
from seqkit.checking import default_of
from seqkit.commands import COMMANDS
from seqkit.config import options
from seqkit.plugins import Catalogue

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
  --config-dir DIR  look for recipes (NAME.yaml) in DIR, too; they come before seqkit's own
  --multirun, -m    run every combination of the values given as key=a,b,c
  --cfg             print the composed config and stop
  --version         print the version
  --help, -h        this text; after a command: the keys that it reads
"""


def overview(config_dirs: list[Path], words: list[str]) -> str:
    """Commands, recipes (those of plug-ins among the words, too), examples and options."""
    recipes = recipe_files.recipes(Catalogue(plugins.take_modules(words)[1]), config_dirs)
    return _HELP.format(
        version=seqkit.__version__,
        commands="\n".join(f"  {name:22}{command.summary}" for name, command in COMMANDS.items()),
        recipes="\n".join(f"  {name:22}{text}" for name, text in recipes.items()),
    )


def keys(command: str) -> str:
    """The keys that a command reads."""
    meanings = COMMANDS[command].meanings
    lines = [f"python -m seqkit {command} key=value ...: {COMMANDS[command].summary}", ""]
    for name, item in options():
        if commands.reads(command, name):
            default = default_of(item)
            shown = "" if default in (None, "", []) else f" [{default}]"
            lines.append(f"  {name:26}{meanings.get(name, item.metadata['help'])}{shown}")
    return "\n".join(lines)
