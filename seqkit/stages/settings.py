"""The settings that a run keeps, and which of them may differ when it goes on."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from seqkit.config import ARITHMETIC_KEYS, Config, as_data_asks, values_of
from seqkit.data import files
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.session import Notice, Session
from seqkit.runs import named_checkpoint
from seqkit.runs.checkpoint import Checkpoint

_FIXED = ("init_from", "data.", "the data itself")  # no run can go on with others
PLACE_KEYS = {"data.path", "data.pattern"}
"""Keys that say where the data is: its digest tells whether it is the same."""
MAY_CHANGE = PLACE_KEYS | {
    *("train.max_steps", "train.max_epochs", "train.max_minutes", "train.patience"),
    *("train.validate_every", "train.checkpoint_every", "model.backend"),
}
"""Keys that say where, how long and how fast a run trains; all else shapes what it learns."""


def located(config: Config, session: Session) -> Config:
    """The config as a run keeps it, with a file in the place of standard input."""
    prompt = [] if config.prompt_file is None else [config.prompt_file]
    paths = files.on_disk([*config.data.path, *prompt], session.notice, session.progress)
    data = replace(config.data, path=paths[: len(config.data.path)])
    return as_kept(replace(config, data=data, prompt_file=paths[-1] if prompt else None))


def filled_up(config: Config, saved: Checkpoint, notice: Notice) -> Config:
    """The config, with where and how the run reads its data if it does not say so itself."""
    data, stored = config.data, saved.settings
    if not data.path and stored.data.path:
        notice(f"the run goes on with its own data: {' and '.join(stored.data.path)}")
        data = replace(data, path=stored.data.path)
    data = replace(data, pattern=data.pattern or stored.data.pattern)
    if stored.init_from:
        data = data.read_as(stored.data)
    origin = config.init_from or stored.init_from
    return replace(config, data=data, init_from=origin)


def as_kept(config: Config) -> Config:
    """The config as a run keeps it: known from every folder, and with what its data ask for."""
    kept = replace(
        config,
        seed=config.fixed_seed,
        data=replace(config.data, path=[str(Path(path).absolute()) for path in config.data.path]),
        init_from=config.init_from and named_checkpoint.absolute(config.init_from),
        prompt_file=config.prompt_file and str(Path(config.prompt_file).absolute()),
        prompt_audio=config.prompt_audio and str(Path(config.prompt_audio).absolute()),
    )
    return as_data_asks(kept)


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
