"""The command line: arguments in, exit code out."""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import seqkit
from seqkit import config as schema
from seqkit import plugins
from seqkit.config import Config
from seqkit.errors import ConfigError, SeqkitError
from seqkit.options import default_of
from seqkit.plugins import Catalogue

_COMMANDS = {
    "train": "learn from text or sound and give a sample (the default)",
    "generate": "let a checkpoint write text or make sound",
    "evaluate": "measure how well a checkpoint predicts text or sound",
    "inspect": "show what a checkpoint holds",
    "export": "write a checkpoint's network as an ONNX model",
    "bench": "time training steps at a shape, beside other ways to make them",
}

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
  python -m seqkit recipe=wav_generation data.path=my_wavs/
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


def main(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        return _exit_code(lambda: _main(given))
    except BrokenPipeError:
        # Whoever read stdout has enough. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _exit_code(run: Callable[[], int]) -> int:
    """What an expected failure in `run` comes to, said in a line on stderr."""
    try:
        return run()
    except SeqkitError as error:
        _report(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        _report("interrupted")
        return 130
    except BrokenPipeError:
        raise
    except OSError as error:
        _report(f"{error.filename or 'input or output'}: {error.strerror or error}")
        return 6
    except MemoryError:
        _report("out of memory: try a smaller train.batch_size or model.hidden_size")
        return 5


def entry() -> None:
    """The console script `seqkit`."""
    sys.exit(main())


def _main(arguments: list[str]) -> int:
    options = _parser().parse_intermixed_args(arguments)
    words: list[str] = options.words
    if options.version:
        print(seqkit.__version__)
        return 0
    if not arguments or (options.help and (not words or "=" in words[0])):
        print(_help(options.config_dir, words))
        return 0
    from seqkit import compose  # Hydra takes a tenth of a second

    command = "train"
    if words and "=" not in words[0]:
        command = words.pop(0)
        if command not in _COMMANDS:
            hint = compose.nearest(command, list(_COMMANDS))
            raise ConfigError(f"unknown command {command}{hint} There are: {', '.join(_COMMANDS)}")
        if options.help:
            print(_keys_help(command))
            return 0
    if options.multirun:
        return _multirun(command, words, options.config_dir)
    config = compose.compose(words, options.config_dir)
    if options.cfg:
        print(compose.to_yaml(config), end="")
        return 0
    return _run(command, config, words)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say it as every other misuse is said."""
        raise ConfigError(f"{message}; python -m seqkit --help lists the options")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="seqkit", add_help=False, allow_abbrev=False)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--config-dir", "-cd", type=Path, action="append", default=[])
    parser.add_argument("--multirun", "-m", action="store_true")
    parser.add_argument("--cfg", action="store_true")
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--help", "-h", action="store_true")
    return parser


def _run(command: str, config: Config, words: list[str]) -> int:
    # What needs PyTorch is imported only now: a mistyped key is refused at once.
    from seqkit import compose
    from seqkit.console import Console

    console = Console(config.quiet)
    reads = schema.READS[command]
    ignored = [key for key in compose.given_keys(words) if key.partition(".")[0] not in reads]
    if ignored:
        console.notice(f"{command} does not read {', '.join(ignored)}")
    match command:
        case "train":
            from seqkit.commands import train

            train.run(config, console)
        case "generate":
            from seqkit.commands import generate

            generate.run(config, console)
        case "evaluate":
            from seqkit.commands import evaluate

            evaluate.run(config, console)
        case "inspect":
            from seqkit.commands import inspect

            inspect.run(config, console)
        case "export":
            from seqkit.commands import export

            export.run(config, console)
        case "bench":
            from seqkit.commands import bench

            bench.run(config, console)
    return 0


def _multirun(command: str, words: list[str], config_dirs: list[Path]) -> int:
    """Train once for every combination; the exit code is the first failure's."""
    if command != "train":
        raise ConfigError(f"--multirun is for train, not for {command}")
    from seqkit import compose

    jobs = compose.sweep(words, config_dirs)
    configs = [compose.compose(job, config_dirs) for job in jobs]  # all are checked before any runs
    parent = _sweep_folder(configs[0])
    first_failure = 0
    for number, (composed, job) in enumerate(zip(configs, jobs, strict=True)):
        config = replace(composed, run_dir=str(parent / str(number)))
        if not config.quiet:
            _report(f"job {number} of {len(jobs)}: {' '.join(job)}", "multirun")
        code = _exit_code(partial(_run, command, config, job))
        if code in (75, 130):
            return code
        first_failure = first_failure or code
    return first_failure


def _sweep_folder(config: Config) -> Path:
    from seqkit.runs.folder import RunFolder

    if config.run_dir:
        return Path(config.run_dir)
    return RunFolder.timed(Path(config.runs), config.recipe or "multirun").path


def _report(message: str, label: str = "error") -> None:
    with contextlib.suppress(OSError):
        print(f"seqkit: {label}: {message}", file=sys.stderr)


def _help(config_dirs: list[Path], words: list[str]) -> str:
    recipes = plugins.recipes(Catalogue(plugins.take_modules(words)[1]), config_dirs)
    return _HELP.format(
        version=seqkit.__version__,
        commands="\n".join(f"  {name:16}{text}" for name, text in _COMMANDS.items()),
        recipes="\n".join(f"  {name:16}{text}" for name, text in recipes.items()),
    )


def _keys_help(command: str) -> str:
    lines = [f"python -m seqkit {command} key=value ...: {_COMMANDS[command]}", ""]
    for name, item in schema.options():
        if name.partition(".")[0] in schema.READS[command]:
            default = default_of(item)
            shown = "" if default is None or default == "" else f" [{default}]"
            lines.append(f"  {name:26}{item.metadata['help']}{shown}")
    return "\n".join(lines)
