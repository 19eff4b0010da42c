"""What a run goes on from: its newest state, its settings, and what may differ from them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from seqkit.config import ARITHMETIC_KEYS, Config, as_data_asks, values_of
from seqkit.foundation import disk, dropped
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.config_file import from_values
from seqkit.foundation.errors import CheckpointError, ConfigError, UnreadableError
from seqkit.foundation.run_folders import SAVED, STATES, RunFiles, instead_of_a_run, is_run
from seqkit.runs import checkpoint, named_checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.checkpoint_bytes import peek

_FIXED = ("init_from", "data.", "the data itself")  # no run can go on with others
PLACE_KEYS = {"data.path", "data.pattern"}
"""Keys that say where the data is: its digest tells whether it is the same."""
MAY_CHANGE = PLACE_KEYS | {
    *("train.max_steps", "train.max_epochs", "train.max_minutes", "train.patience"),
    *("train.validate_every", "train.checkpoint_every", "model.backend"),
}
"""Keys that say where, how long and how fast a run trains; all else shapes what it learns."""


def find_last(files: RunFiles, catalogue: Catalogue, notice: Callable[[str], None]) -> Checkpoint:
    """The newest whole checkpoint with a training state: `last`, else `previous`.

    One that is damaged is passed over, with a notice. Nothing is changed before `set_aside`.

    Raises:
        CheckpointError: there is none, or all are damaged.
        UnreadableError: one of them cannot be read now, though it may be whole; or the run learned
            with a key that is gone.
    """
    reasons: list[str] = []
    for file in map(files.checkpoint, STATES):
        try:
            saved = checkpoint.load(file, catalogue)
            if saved.training is None:
                raise CheckpointError(f"{file}: it holds no training state")
            _require_kept(saved)
        except UnreadableError:
            raise
        except CheckpointError as error:
            reasons.append(str(error))
            continue
        for reason in reasons:
            notice(f"{reason}; going on from {file.name}")
        return saved
    best = files.checkpoint("best")
    instead = f"with another run_dir, init_from={best} begins with its best weights"
    raise CheckpointError(
        f"the run cannot go on: {'; '.join(reasons)}: {instead if peek(best) else 'train anew'}"
    )


def _require_kept(saved: Checkpoint) -> None:
    """Raise UnreadableError where a run learned with a key that is gone."""
    for name, usual in dropped.OF_TRAINING.items():
        group, _, key = name.partition(".")
        values = saved.config.get(group)
        value = values.get(key, usual) if isinstance(values, dict) else usual
        if value != usual and (value or usual):
            raise UnreadableError(
                f"{saved.file}: it learned with {name}, which is gone: {dropped.KEYS[name]}; a new "
                f"run begins with its weights by init_from={saved.file}"
            )


def set_aside(files: RunFiles, found: Checkpoint) -> None:
    """Give a damaged `last`, in whose place another was found, a name with the time.

    Raises OutputError.
    """
    last = files.checkpoint("last")
    if found.file.name != last.name and last.exists():
        disk.rename(last, last.with_name(f"last.damaged_{time.strftime('%Y%m%d_%H%M%S')}"))


def read_config(folder: Path) -> Config:
    """The settings of the run in a folder, as its newest checkpoint has them.

    Raises:
        ConfigError: there is no run.
        CheckpointError: its checkpoints cannot be read.
    """
    if not is_run(folder):
        raise ConfigError(f"run_dir={folder}: {instead_of_a_run(folder)}, or recipe=NAME for one")
    records = (peek(RunFiles(folder).checkpoint(name)) for name in (*STATES, *SAVED))
    values = next((record.get("config") for record in records if record), None)
    if not isinstance(values, dict):
        raise CheckpointError(
            f"run_dir={folder}: its checkpoints are damaged: give another run_dir and train anew"
        )
    return from_values(values, str(folder))


def as_kept(config: Config) -> Config:
    """The config as a run keeps it: known from every folder, and with what its data ask for."""
    data = replace(config.data, path=[str(Path(path).absolute()) for path in config.data.path])
    origin = config.init_from and named_checkpoint.absolute(config.init_from)
    return as_data_asks(replace(config, seed=config.fixed_seed, data=data, init_from=origin))


def differences(config: Config, stored: Config) -> tuple[str, ...]:
    """The keys of data, network and training of which a run has other values than are asked for."""
    wanted, before = values_of(as_kept(config)), values_of(as_kept(stored))
    groups = ("data.", "model.", "optimizer.", "train.")
    compared = [name for name in wanted if name.startswith(groups)]
    return tuple(name for name in ("seed", "init_from", *compared) if wanted[name] != before[name])


def allowed(config: Config, saved: Checkpoint, changed: Sequence[str]) -> str | None:
    """What differs between a run and what is asked for, in words, where resume=force allows it.

    None where nothing does that shapes what the run learns.

    Raises:
        ConfigError: the run cannot go on so.
    """
    changed = [name for name in changed if name not in MAY_CHANGE]
    if saved.settings.init_from:  # it brought its own network, whatever was asked for
        changed = [name for name in changed if not _shapes_network(name)]
    if not changed:
        return None
    differs = f"what you ask for differs from the run in {config.run_dir}: {', '.join(changed)}"
    fixed = any(name.startswith(_FIXED) or _shapes_network(name) for name in changed)
    if config.resume == "force" and not fixed:
        return differs
    forced = "" if fixed else ", or give resume=force"
    new = not any(_shapes_network(name) or name == "init_from" for name in changed)
    forced += f", or a new run init_from={config.run_dir}" * new
    raise ConfigError(f"{differs}. Leave it as it was{forced}")


def _shapes_network(name: str) -> bool:
    return name.startswith("model.") and name.removeprefix("model.") not in ARITHMETIC_KEYS
