"""The folder of the run to train in, and the checkpoint in it to go on from."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from seqkit.config import Config
from seqkit.data import remote
from seqkit.data.shards import opened
from seqkit.doctor.fitting_recipe import suggested_recipe
from seqkit.foundation import disk
from seqkit.foundation.errors import CheckpointError, ConfigError, OutputError
from seqkit.foundation.plugins import Catalogue
from seqkit.foundation.ranks import Ranks
from seqkit.runs import earlier, inputs, resume, saved_states
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder
from seqkit.runs.saved_states import Found


@contextlib.contextmanager
def claimed(
    config: Config, catalogue: Catalogue, notice: Callable[[str], None], ranks: Ranks
) -> Iterator[tuple[RunFolder, Found | None]]:
    """Keep others out of the run's folder until the block ends.

    Rank 0 keeps the folder; the other processes read the checkpoint that it found. Yields the
    state with which `config` is to go on; None where the run starts.

    Raises:
        ConfigError, CheckpointError, OutputError: the folder, or what is in it, does not allow it.
    """
    folder = _run_folder(config)
    with contextlib.ExitStack() as held:
        with ranks.turn(ranks.leads):
            if ranks.leads:
                folder.check_writable()
                held.enter_context(folder.claimed())
            goes_on = config.resume != "never" and folder.holds_run
            if ranks.leads and not goes_on:
                _check_unused(config, folder)
                folder.check_no_others()
                _check_inputs(config, folder)
            found = _last(folder, catalogue, notice) if goes_on else None
        saved = found and found.checkpoint
        if saved is None and config.resume == "force":
            raise CheckpointError(f"resume=force: {folder.path} holds no run to go on with")
        if goes_on and saved is None:
            inputs.check_apart(config, folder.path, replaced=False)
            notice(_starts_again(folder))
        if saved is not None:
            resume.take_place(config, saved, notice)
            config.data = opened.settled(config.data)  # as the run's own were
            resume.leave_out_new_keys(config, saved, notice)
            here = remote.kept(config.data, disk.cache_dir())
            if not any(map(remote.is_remote, here.path)):  # else once fetched, with its shards
                resume.check_settings(config, saved)
            config.init_from = saved.config.get("init_from")
        yield folder, found


def _last(folder: RunFolder, catalogue: Catalogue, notice: Callable[[str], None]) -> Found | None:
    """The state to go on from. Raises CheckpointError."""
    return saved_states.find_last(folder.files, catalogue, notice)


def _starts_again(folder: RunFolder) -> str:
    said = f"{folder.path}: no checkpoint to go on from is left: the run starts again"
    kept = earlier.place(folder.files)
    return f"{said}, and what is left of it is kept in {kept}" if kept else said


def _run_folder(config: Config) -> RunFolder:
    if config.resume != "never" and not config.run_dir:
        raise ConfigError(f"resume={config.resume}: give run_dir=FOLDER, the run to go on with")
    if not config.recipe:
        held = config.run_dir and RunFolder(Path(config.run_dir)).files.config.exists()
        raise ConfigError(
            f"no recipe: resume=auto goes on with the run in {config.run_dir}"
            if held
            else f"no recipe: give {suggested_recipe(config.data)}; --help lists all"
        )
    if config.run_dir:
        return RunFolder(Path(config.run_dir))
    return RunFolder.timed(Path(config.runs), config.recipe)


def _check_unused(config: Config, folder: RunFolder) -> None:
    """Raises OutputError where the folder holds what a new run would replace."""
    if config.overwrite or not folder.is_used:
        return
    if folder.holds_run and folder.files.config.exists():
        found = "a run: resume=auto goes on with it, overwrite=true replaces it"
    elif folder.holds_run:
        found = (
            "checkpoints, but no config.yaml of their run: with the run's recipe and keys "
            "resume=auto goes on with them, overwrite=true replaces them"
        )
    else:
        found = (
            "weights, but nothing to go on from: give another run_dir, and "
            f"init_from={folder.path} to begin with them, or overwrite=true"
        )
    raise OutputError(f"run_dir={folder.path} holds {found}")


def _check_inputs(config: Config, folder: RunFolder) -> None:
    """Raises OutputError where a new run would write to the folder of its own data, or clear it."""
    if config.run_dir:
        replaced = config.overwrite and config.resume == "never" and folder.is_used
        inputs.check_apart(config, folder.path, replaced=replaced)


def is_finished(config: Config, folder: RunFolder, saved: Checkpoint) -> bool:
    """Whether the run came to its end, and nothing asks for more of it."""
    ended = folder.finished_at == saved.metrics.get("step")
    return ended and not resume.may_have_more(config, saved)
