"""The config of the run in a folder, with which the run goes on."""

import stat
from pathlib import Path

from seqkit.config import Config
from seqkit.foundation import disk
from seqkit.foundation.config_file import LARGEST, from_yaml, has_all_groups
from seqkit.foundation.errors import CheckpointError, ConfigError
from seqkit.runs.layout import RunFiles, names_of, runs_below


def read_config(folder: Path) -> Config:
    """The settings of the run in a folder, as it wrote them to config.yaml.

    Raises:
        ConfigError: there is no run, or the file does not hold settings; it says what to do.
        CheckpointError: the file cannot be read.
    """
    file = RunFiles(folder).config
    try:
        config = from_yaml(_read(file), str(file))
        if not config.recipe:
            raise ConfigError(f"{file}: it names no recipe")
    except FileNotFoundError as error:
        raise ConfigError(f"run_dir={folder}: {_instead_of_a_run(folder)}") from error
    except ConfigError as error:
        raise ConfigError(f"{error}. {_how_to_go_on(folder)}") from error
    return config


def is_a_runs(file: Path) -> bool:
    """Whether a config.yaml is one that a run wrote, in this version or an older one.

    Other programs have files of this name: one of theirs may have a few keys that seqkit has, too.
    """
    try:
        content = _read(file)
        from_yaml(content, str(file))
    except (FileNotFoundError, ConfigError, CheckpointError):
        return False
    return has_all_groups(content)


def _read(file: Path) -> bytes:
    """The content. Raises FileNotFoundError, ConfigError, CheckpointError."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise CheckpointError(f"{file}: not a regular file")
        with file.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise CheckpointError(f"{file}: cannot be read: {disk.describe(error)}") from error
    if len(content) > LARGEST:
        raise ConfigError(f"{file}: larger than any config that seqkit writes")
    return content


def _how_to_go_on(folder: Path) -> str:
    return f"To go on, give the run's recipe and keys again, beside run_dir={folder} resume=auto"


def _instead_of_a_run(folder: Path) -> str:
    """What there is where no config.yaml is, and what to do."""
    if runs := runs_below(folder):
        return (
            f"it holds the runs {names_of(runs, folder)}: "
            "give the folder of one, or --multirun with the line that started them"
        )
    files = RunFiles(folder)
    if files.has_training_states:
        return f"it holds checkpoints, but no config.yaml of their run. {_how_to_go_on(folder)}"
    if files.has_checkpoints:
        return (
            "it holds weights, but nothing to go on from; give recipe=NAME, another run_dir and "
            f"init_from={folder} to begin with them"
        )
    found = "it holds no run to go on with" if folder.is_dir() else "no such folder"
    return f"{found}; give recipe=NAME to start a run there"
