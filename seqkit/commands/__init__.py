"""The commands, one file each: `run(keys, catalogue, console)`, thin over the API; their help."""

import gc
import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import seqkit
from seqkit.config import Config, options, values_of
from seqkit.foundation import dropped
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import KEYED, allowed_values, nearest

_SAMPLING = (
    *("length", "prompt", "prompt_audio", "prompt_file", "sample", "seconds"),
    *("seed", "temperature", "top_k", "top_p"),
)
_RUN = ("recipe", "run_dir", "runs", "resume", "init_from", "overwrite")
_OUTPUT = ("out", "overwrite")


@dataclass(frozen=True)
class Command:
    """A verb: what it does, and what it reads: keys, and groups with all their keys.

    One that is `shared` runs in all processes that torchrun starts, others in the first alone.
    `example`: what follows the program's name in its --help's example.
    """

    summary: str
    example: str
    reads: tuple[str, ...]
    shared: bool = False


COMMANDS = {
    "train": Command(
        "learn from text or sound and give a sample (the default)",
        "recipe=shakespeare data.path=my.txt run_dir=runs/a",
        (*_SAMPLING, *_RUN, "data", "device", "launcher", "model", "optimizer", "train"),
        shared=True,
    ),
    "generate": Command(
        "let a checkpoint write text or make sound",
        "generate checkpoint=runs/a prompt=ROMEO: length=300",
        (
            *(*_SAMPLING, *_OUTPUT, "checkpoint", "device", "label", "label_strength"),
            *("include_prompt", "loop", "streams", "takes", "until"),
        ),
    ),
    "evaluate": Command(
        "measure how well a checkpoint predicts text or sound",
        "evaluate checkpoint=runs/a data.path=play.txt",
        (*_OUTPUT, *("checkpoint", "data", "device", "json", "part", "protocol", "window")),
    ),
    "score": Command(
        "show which symbols surprise a checkpoint",
        "score checkpoint=runs/a data.path=play.txt out=a.jsonl",
        (*_OUTPUT, "checkpoint", "data", "device", "part"),
    ),
    "compare": Command(
        "show runs side by side, best first",
        "compare runs=runs",
        ("json", "runs"),
    ),
    "report": Command(
        "write the page that shows a run, report.html, anew",
        "report run_dir=runs/a",
        ("run_dir",),
    ),
    "doctor": Command(
        "look at data before a training, or at a run after it, and say what to do",
        "doctor data.path=my.txt",
        (*_OUTPUT, "data", "device", "json", "recipe", "run_dir", "train.max_minutes"),
    ),
    "inspect": Command(
        "show what a checkpoint holds",
        "inspect checkpoint=runs/a",
        ("checkpoint", "json"),
    ),
    "export": Command(
        "write a checkpoint as a page that runs it, or with 8-bit weights",
        "export checkpoint=runs/a out=a.html",
        (*_OUTPUT, "checkpoint"),
    ),
    "play": Command(
        "open models to a browser and to plain HTTP, on this machine",
        "play checkpoint=etude",
        ("checkpoint", "device", "port", "runs", "sample"),
    ),
}
_EVERYWHERE = ("plugins", "quiet")
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


def reads(name: str, key: str) -> bool:
    """Whether a command reads a key."""
    read = (*COMMANDS[name].reads, *_EVERYWHERE)
    return key in read or key.partition(".")[0] in read


def load(name: str) -> ModuleType:
    """The file of a command. What needs PyTorch is imported only now."""
    first = "torch" not in sys.modules
    if first:
        gc.disable()  # it would look through what PyTorch makes again and again, and find nothing
    module = importlib.import_module(f"{__name__}.{name}")
    if first:
        gc.freeze()  # nor is there anything to find in it later
        gc.enable()
    return module


def overview(config_dirs: list[Path]) -> str:
    """Commands, recipes, examples and options."""
    from seqkit.compose.recipes import described  # Hydra takes a while

    summaries = {name: command.summary for name, command in COMMANDS.items()}
    return _HELP.format(
        version=seqkit.__version__,
        commands=_table(summaries, 22),
        recipes=_table(described(config_dirs), 22),
        options=_table(_OPTIONS, 18),
    )


def keys(command: str) -> str:
    """The keys that a command reads."""
    rows, defaults = {}, values_of(Config())
    for name, item in options():
        if reads(command, name):
            allowed = f" ({values})" if (values := allowed_values(item)) else ""
            shown = "" if defaults[name] in (None, "", []) else f" [{defaults[name]}]"
            rows[name] = item.metadata["help"] + allowed + shown
    usage = f"usage: python -m seqkit {command} key=value ..."
    example = f"example: python -m seqkit {COMMANDS[command].example}"
    return f"{usage}\n{example}\n\n{COMMANDS[command].summary}\n\n{_table(rows, 26)}"


def refuse_unknown(word: str) -> None:
    """Raise ConfigError where a word is no command: it names the nearest one."""
    if word not in COMMANDS:
        from seqkit.compose.recipes import recipe_files  # Hydra takes a while

        if word in dropped.COMMANDS:
            raise ConfigError(f"{word}: that command is gone: {dropped.COMMANDS[word]}")
        if os.path.lexists(word):
            raise ConfigError(f"{word} is no command: {KEYED}")
        if word in dict(options()):
            raise ConfigError(f"{word} is a key: give {word}=VALUE, without blanks around =")
        if word in recipe_files([]):
            raise ConfigError(f"{word} is a recipe: give recipe={word}")
        there = f"There are: {', '.join(COMMANDS)}"
        raise ConfigError(f"unknown command {word}{nearest(word, [*COMMANDS])} {there}")


def _table(rows: Mapping[str, str], width: int) -> str:
    """Names, in so many columns, and what they mean, each in a line."""
    return "\n".join(f"  {name:{width}}{text}" for name, text in rows.items())
