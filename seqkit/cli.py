"""The command line: arguments in, exit code out."""

import argparse
import atexit
import contextlib
import shlex
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import NoReturn

import seqkit
from seqkit import commands, compose
from seqkit import config as schema
from seqkit.commands import COMMANDS
from seqkit.commands.interrupts import SIGNALS, ended_by_signals
from seqkit.foundation import device, processes, stdout
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console, put
from seqkit.foundation.errors import (
    ConfigError,
    InterruptedRunError,
    LostProcessError,
    SeqkitError,
    StoppedError,
    expected,
    shows_tracebacks,
)
from seqkit.foundation.wording import visible

_LONGEST = 3000  # characters of a message
_HEARD = 3.0  # seconds in which rank 0, if it has failed alike, tells, and the launcher ends all


def main(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code; an expected failure is said on stderr."""
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what others print is no product
            return _main(sys.argv[1:] if arguments is None else arguments)
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        if processes.own_rank().leads:
            _report("interrupted")
        return 130
    except (SeqkitError, OSError, MemoryError) as error:
        failure = error if isinstance(error, SeqkitError) else expected(error)
    if not processes.own_rank().leads:
        if isinstance(failure, (LostProcessError, StoppedError, InterruptedRunError)):
            return failure.exit_code  # which all processes have: rank 0 tells
        time.sleep(_HEARD)
    if shows_tracebacks() and sys.stderr is not None:
        traceback.print_exception(failure)
    _report(str(failure))
    return failure.exit_code


def entry() -> NoReturn:
    """The console script `seqkit`."""
    code: int | None = None

    def end() -> None:
        if code is not None:
            processes.end(code)

    atexit.register(end)  # the first: it comes after all that others register
    try:
        code = main()
    except KeyboardInterrupt:  # while the handlers of the last command were put back
        code = 130
    except Exception:
        if processes.own_rank().size == 1:
            raise
        traceback.print_exc()
        code = 1
    with contextlib.suppress(KeyboardInterrupt):
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # one that comes now changes no exit code
    if processes.own_rank().size > 1:
        processes.end(code)
    sys.exit(code)


def _main(arguments: list[str]) -> int:
    options, others = _parser().parse_known_intermixed_args(arguments)
    others += [word for word in options.words if word.startswith("-")]  # those with blanks
    if others:
        raise ConfigError(_unknown_option(others[0], arguments))
    asks = options.help or "help" in options.words
    words: list[str] = [word for word in options.words if word != "help"]
    named = words.pop(0) if words and "=" not in words[0] else ""
    command = named or "train"
    shared = command in COMMANDS and COMMANDS[command].shared
    printed = not (named or words) or options.version or asks or options.cfg
    if not processes.own_rank().leads and (printed or not shared):
        return 0  # rank 0 does it
    if options.version or command == "version":
        stdout.write(seqkit.__version__)
        return 0
    nothing = not (named or words or options.cfg or options.multirun)
    if nothing or (asks and not named):
        stdout.write(commands.overview(options.config_dir))
        return 0
    commands.refuse_unknown(command)
    if asks:
        stdout.write(commands.keys(command))
        return 0
    if options.multirun:
        if options.cfg:
            raise ConfigError("--cfg prints one config: leave --multirun out")
        return _multirun(command, words, options.config_dir)
    return _run(command, words, options.config_dir, only_shown=options.cfg)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say it as every other misuse is said."""
        raise ConfigError(f"{message}; python -m seqkit --help lists the options")


def _unknown_option(option: str, arguments: list[str]) -> str:
    """What is said of it: a key is given without dashes."""
    name, _, value = option.lstrip("-").partition("=")
    key, after = name.replace("-", "_"), arguments[arguments.index(option) + 1 :]
    if key in dict(schema.options()):
        value = value or next(iter(after), "VALUE")
        return f"{option}: keys have no dashes: give {shlex.quote(f'{key}={value}')}"
    return f"unknown option {option}; python -m seqkit --help lists the options"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="seqkit", add_help=False, allow_abbrev=False)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--config-dir", "-cd", type=Path, action="append", default=[])
    parser.add_argument("--multirun", "-m", action="store_true")
    parser.add_argument("--cfg", action="store_true")
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--help", "-h", action="store_true")
    return parser


def _run(command: str, words: list[str], config_dirs: list[Path], *, only_shown: bool) -> int:
    made = compose.compose_training if command == "train" else compose.compose
    config = made(words, config_dirs)
    if only_shown:
        from seqkit.foundation.config_file import to_yaml

        stdout.write(to_yaml(config).rstrip("\n"))
        return 0
    catalogue = Catalogue(config.plugins)
    if config.data.dataset and "data.dataset" in config.given:  # unused beside data.path
        catalogue.find("datasets", config.data.dataset)
    console = Console(config.quiet or not processes.own_rank().leads)
    ignored = [key for key in config.given if not commands.reads(command, key)]
    for key in ignored:
        if command == "train":  # whose closing sample would fail by it, after hours
            schema.set_value(config, key, schema.values_of(schema.Config())[key])
    if ignored:
        console.notice(f"{command} does not read {', '.join(ignored)}")
    with console.progress("seqkit: starting"):
        if commands.reads(command, "device"):
            device.wake(config.device, processes.own_rank().local_number)
        module = commands.load(command)  # PyTorch takes a second or two
    with ended_by_signals():  # from here on something may have been begun
        module.run(config, catalogue, console)
    return 0


def _multirun(command: str, words: list[str], config_dirs: list[Path]) -> int:
    """Train once for every combination; the exit code is the first failure's."""
    if command != "train":
        raise ConfigError(f"--multirun is for train, not for {command}")
    if processes.own_rank().size > 1:
        raise ConfigError("--multirun starts trainings of one process each: leave torchrun out")
    from seqkit.commands import multirun

    with ended_by_signals():
        return multirun.run(words, config_dirs)


def _report(message: str) -> None:
    if len(message) > _LONGEST:  # a value that somebody else's file holds
        message = f"{message[:_LONGEST]} …"
    if sys.stderr is not None:  # else closed before the program began
        put(sys.stderr, f"seqkit: error: {processes.named(visible(message))}\n")
