"""What a run goes on from: its newest state, its settings, and what may differ from them."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from seqkit.config import ARITHMETIC_KEYS, Config, as_data_asks, options, values_of
from seqkit.data import remote
from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.config_file import from_values
from seqkit.foundation.errors import CheckpointError, ConfigError, DataError, UnreadableError
from seqkit.foundation.run_folders import SAVED, STATES, is_run
from seqkit.foundation.settings import default_of
from seqkit.runs import checkpoint, named_checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.checkpoint_bytes import peek
from seqkit.runs.layout import RunFiles, instead_of_a_run

_GROUPS = ("data", "model", "optimizer", "train")
_FIXED = ("optimizer.kind", "init_from", "data.conditions")  # no run can go on with another one
END_KEYS = {
    f"train.{key}"
    for key in (
        *("max_steps", "max_epochs", "max_minutes", "patience"),
        *("validate_every", "checkpoint_every"),
    )
} | {"model.autotune"}
"""What says when a run stops, validates and saves; all else shapes what it learns."""
PLACE_KEYS = {"data.path", "data.pattern"}
"""Keys that say where the data is: its digest tells whether it is the same."""
_ONE_CALL = {"auto", "cudnn", "persistent"}
"""Values of model.backend that compute the same but for rounding: a run may go on with any."""


class LastState(NamedTuple):
    """The state that a run goes on from, and the damaged ones that were passed over."""

    checkpoint: Checkpoint
    damaged: Sequence[Path]


def find_last(files: RunFiles, catalogue: Catalogue, notice: Callable[[str], None]) -> LastState:
    """The newest whole checkpoint with a training state: `last`, else `previous`.

    One that is damaged is passed over, with a notice. Nothing is changed before `set_aside`.

    Raises:
        CheckpointError: there is none, or all are damaged.
        UnreadableError: one of them cannot be read now, though it may be whole.
    """
    damaged: list[Path] = []
    reasons: list[str] = []
    for file in map(files.checkpoint, STATES):
        try:
            saved = checkpoint.load(file, catalogue)
            if saved.training is None:
                raise CheckpointError(f"{file}: it holds no training state")
        except UnreadableError:
            raise
        except CheckpointError as error:
            reasons.append(str(error))
            damaged += [file] if file.exists() else []
            continue
        for reason in reasons:
            notice(f"{reason}; going on from {file.name}")
        return LastState(saved, damaged)
    best = files.checkpoint("best")
    instead = f"with another run_dir, init_from={best} begins with its best weights"
    raise CheckpointError(
        f"the run cannot go on: {'; '.join(reasons)}: {instead if peek(best) else 'train anew'}"
    )


def set_aside(damaged: Sequence[Path]) -> None:
    """Give damaged checkpoints a name with the time, beside those to come. Raises OutputError."""
    for file in damaged:
        disk.rename(file, file.with_name(f"{file.stem}.damaged_{time.strftime('%Y%m%d_%H%M%S')}"))


def keep_best(files: RunFiles, notice: Callable[[str], None]) -> None:
    """Keep the best checkpoint of a run that is judged otherwise now. Raises OutputError."""
    best = files.checkpoint("best")
    header = peek(best)
    if header is not None:
        kept = best.with_stem(f"best-{header['metrics'].get('step')}")
        disk.rename(best, kept)
        notice(f"losses are of other data from now on: the best checkpoint is kept as {kept}")


def newest_record(folder: Path) -> dict[str, Any]:
    """What a run's newest checkpoint that can be read says of itself; empty without one."""
    records = (peek(RunFiles(folder).checkpoint(name)) for name in (*STATES, *SAVED))
    return next((record for record in records if record), {})


def read_config(folder: Path) -> Config:
    """The settings of the run in a folder, as its newest checkpoint has them.

    Raises:
        ConfigError: there is no run.
        CheckpointError: its checkpoints cannot be read.
    """
    if not is_run(folder):
        raise ConfigError(f"run_dir={folder}: {instead_of_a_run(folder)}, or recipe=NAME for one")
    values = newest_record(folder).get("config")
    if not isinstance(values, dict):
        raise CheckpointError(
            f"run_dir={folder}: its checkpoints are damaged: give another run_dir and train anew"
        )
    return from_values(values, str(folder))


def differences(config: Config, saved: Mapping[str, Any]) -> list[str]:
    """Which keys that shape or place a run, or end it, differ from its own.

    Args:
        config: what is asked for.
        saved: the run's own settings; of a key that they lack it had the default.
    """
    changed = []
    comparable = {
        "seed": config.fixed_seed,
        "data.path": remote.absolute(config.data),
        "train.teachers": [*map(named_checkpoint.absolute, config.train.teachers)],
    }
    wanted = values_of(as_data_asks(config)) | comparable
    for name, item in options():
        group, _, key = name.rpartition(".")
        if group in _GROUPS or name == "seed":
            before = saved.get(group, {}) if group else saved
            now, then = wanted[name], before.get(key, default_of(item))
            alike = name == "model.backend" and {now, then} <= _ONE_CALL
            alike |= name == "model.ends" and not (now or then)  # of which early runs know nothing
            if now != then and not alike:
                changed.append(name)
    origin = config.init_from and named_checkpoint.absolute(config.init_from)
    if origin and saved.get("init_from") not in (origin, config.init_from):
        changed.append("init_from")
    return changed


def allowed(config: Config, saved: Checkpoint, changed: Sequence[str]) -> str | None:
    """What differs between a run and what is asked for, in words, where resume=force allows it.

    None where nothing does that shapes what the run learns.

    Raises:
        ConfigError: the run cannot go on so.
    """
    changed = [name for name in changed if name not in END_KEYS | PLACE_KEYS]
    if saved.config.get("init_from"):  # it brought its own network, whatever was asked for
        changed = [name for name in changed if not _shapes_network(name)]
    if not changed:
        return None
    differs = f"what you ask for differs from the run in {config.run_dir}: {', '.join(changed)}"
    fixed = any(name in _FIXED or _shapes_network(name) for name in changed)
    if config.resume == "force" and not fixed:
        return differs
    forced = "" if fixed else f", or give resume=force, or a new run init_from={config.run_dir}"
    raise ConfigError(f"{differs}. Leave it as it was{forced}")


def asks_for_more(changed: Sequence[str]) -> bool:
    """Whether a finished run has to be looked at again: its end, or where its data lie, differs."""
    return any(name in END_KEYS | PLACE_KEYS for name in changed)


def finished(config: Config, step: int | None) -> str:
    """What is said of a run that came to its end, and how it goes on."""
    keys = ("max_steps", "max_minutes", "patience", "max_epochs")
    ends = [f"a larger train.{key}" for key in keys if getattr(config.train, key)]
    extended = f"{' and '.join(ends)} extend{'s' if len(ends) == 1 else ''} it"
    return f"this run is finished, at step {step}; {extended}"


def clock_left(config: Config, saved: Checkpoint) -> str | None:
    """What is said of a run that was to end by the clock, and goes on by steps; None of others."""
    train = saved.config.get("train")
    minutes = train.get("max_minutes") if isinstance(train, dict) else None
    if not minutes or config.train.max_minutes:
        return None
    return (
        f"the run was to end after train.max_minutes={minutes:g}, which does not hold here: give "
        "the key again to end by the clock"
    )


def with_place(config: Config, saved: Checkpoint, notice: Callable[[str], None]) -> Config:
    """The config that looks for the data where the run did, if it does not say where itself.

    That is the path and the pattern, if none is given, and the file that a stream was read into:
    what comes out of the stream now would have to be the same.
    """
    before, data = saved.config.get("data", {}), config.data
    if not data.pattern and isinstance(before.get("pattern"), str):
        data = replace(data, pattern=before["pattern"])
    known, paths = before.get("path"), [*data.path]
    if not paths and isinstance(known, list) and known:
        notice(f"the run goes on with its own data: {' and '.join(map(str, known))}")
        paths = [*map(str, known)]
    elif isinstance(known, list) and len(known) == len(paths):
        for number, (old, path) in enumerate(zip(known, data.path, strict=True)):
            if remote.is_pipe(path) and remote.is_cached_stream(str(old), disk.cache_dir()):
                notice(f"data.path={path} is not read again: the run goes on with {old}")
                paths[number] = old
    return replace(config, data=replace(data, path=paths))


def require_data(config: Config, saved: Checkpoint) -> None:
    """Raise DataError if one of the paths that the run kept is the one to read, and is gone."""
    kept = saved.config.get("data", {}).get("path")
    if config.data.of_rows or not isinstance(kept, list):  # of rows the cache may have a copy
        return
    for path in remote.absolute(config.data):
        if path in kept and not (remote.is_remote(path) or os.path.lexists(path)):
            raise DataError(
                f"{path}: cannot be read: no such file or directory: these are the run's data: "
                f"give where all of them lie now, data.path=…, beside run_dir={config.run_dir} "
                f"resume={config.resume}"
            )


def without_new_keys(config: Config, saved: Checkpoint, notice: Callable[[str], None]) -> Config:
    """The config in which keys that the run does not know have their defaults.

    A recipe may have got them since the run began with an earlier seqkit.
    """
    groups: dict[str, dict[str, Any]] = {"model": {}, "optimizer": {}, "train": {}}
    for name, item in options():
        group, _, key = name.partition(".")
        if group in groups and key not in saved.config.get(group, {}):
            default = default_of(item)
            if getattr(getattr(config, group), key) != default:
                groups[group][key] = default
    if new := [f"{group}.{key}" for group, keys in groups.items() for key in keys]:
        notice(f"the run began with an earlier seqkit and goes on without {', '.join(new)}")
    changed = {name: replace(getattr(config, name), **keys) for name, keys in groups.items()}
    return replace(config, **changed)


def is_same(config: Config, settings: Mapping[str, Any]) -> bool:
    """Whether a run that was made with `settings`, as summary.json has them, is what is asked for.

    Where the data lies elsewhere it is not, whatever its digest.
    """
    named = settings.get("recipe") == config.recipe and bool(settings.get("train"))
    return named and not differences(config, settings)


def reads_otherwise(changed: Sequence[str]) -> bool:
    """Whether the data is read and split otherwise: losses of before cannot be compared then."""
    return any(name.startswith("data.") and name not in PLACE_KEYS for name in changed)


def _shapes_network(name: str) -> bool:
    return name.startswith("model.") and name.removeprefix("model.") not in ARITHMETIC_KEYS
