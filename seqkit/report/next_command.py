"""The command that goes on with a run, does more of it or makes it again, as far as it can work."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqkit.foundation.command_line import command_line
from seqkit.foundation.config_file import RENAMED
from seqkit.foundation.processes import ALONE, Place
from seqkit.runs.checkpoint import is_whole, peek
from seqkit.runs.layout import STATES, RunFiles
from seqkit.runs.record import Record


def can_go_on(record: Record) -> bool:
    """Whether `resume=auto` finds settings, and a checkpoint if there ever was one."""
    files = RunFiles(record.path)
    saved = any(files.checkpoint(name).exists() for name in STATES)
    return record.settings is not None and (not saved or _state(files) is not None)


def go_on(record: Record) -> tuple[str, str]:
    """How to go on with a run: a sentence, and a command if there is one."""
    if can_go_on(record):
        return "This goes on with it:", resume(record)
    readable = record.settings is not None
    damage = "Its last checkpoints are damaged" if readable else "Its config.yaml cannot be read"
    ended_early = record.state != "finished"  # else there is nothing to go on with as it was
    recipe = _recipe(_state(RunFiles(record.path)))
    if recipe and ended_early and not readable:
        said = "this goes on with it, if you add the keys that you gave beside its recipe:"
        words = f"recipe={recipe}", f"run_dir={record.path}", "resume=auto"
        return f"{damage}; {said}", _command(record, *words)
    said, command = anew(record)
    return f"{damage}{said}", command


def anew(record: Record) -> tuple[str, str]:
    """How to begin again where a run cannot go on, as `go_on`; the sentence follows the damage."""
    for name in ("best", "last", "previous"):
        file = RunFiles(record.path).checkpoint(name)
        header = peek(file) if is_whole(file) else None
        if header and (command := _with_weights(record, file, header)):
            return f". This begins a new run with the weights of {file.name}:", command
    if command := again(record):
        return ", and nothing is left of its weights. This trains anew:", command
    return ", and nothing is left of its weights: train anew.", ""


def resume(record: Record, *keys: str) -> str:
    """The command that goes on with a run, with other keys."""
    return _command(record, f"run_dir={record.path}", "resume=auto", *keys)


def more(record: Record) -> str:
    """The command that doubles a run; empty where it cannot go on."""
    settings = record.settings
    if settings is None or not can_go_on(record):
        return ""
    train, keys = settings.train, []
    if train.max_minutes:
        spent = (record.number("elapsed_seconds") or 0.0) / 60
        keys.append(f"train.max_minutes={2 * max(train.max_minutes, spent):.3g}")
    if train.max_epochs:
        keys.append(f"train.max_epochs={2 * train.max_epochs}")
    if train.max_steps:
        keys.append(f"train.max_steps={2 * max(train.max_steps, record.metrics.step)}")
    return resume(record, *keys)


def again(record: Record) -> str:
    """The command that makes a run again; empty where its settings are not today's."""
    old = any(f"\n  {key.partition('.')[2]}:" in record.settings_text for key in RENAMED)
    if record.settings is None or old:
        return ""
    folder, other = f"--config-dir={record.path}", f"run_dir={_again(record.path)}"
    return _command(record, folder, "recipe=config", other)


def _with_weights(record: Record, file: Path, header: Mapping[str, Any]) -> str:
    """The command that starts from a checkpoint's weights, with its recipe and its data."""
    recipe = _recipe(header)
    if not recipe:
        return ""
    data = header["config"].get("data")
    paths = data.get("path") if isinstance(data, dict) else None
    given = [f"data.path={path}" for path in paths] if isinstance(paths, list) else []
    words = [f"recipe={recipe}", *given, f"init_from={file}"]
    return _command(record, *words, f"run_dir={_again(record.path)}")


def _state(files: RunFiles) -> Mapping[str, Any] | None:
    """The header of a whole checkpoint to go on from, if there is one."""
    for file in map(files.checkpoint, STATES):
        header = peek(file)
        if header and header.get("training") and is_whole(file):
            return header
    return None


def _recipe(header: Mapping[str, Any] | None) -> str:
    """The recipe that a checkpoint's run began with; empty where it does not say."""
    config = header.get("config") if header else None
    recipe = config.get("recipe") if isinstance(config, dict) else None
    return recipe if isinstance(recipe, str) else ""


def _again(folder: Path) -> str:
    """A name for another run, beside this one's; `.` is no name to add to."""
    named = folder if folder.name not in ("", "..") else folder.resolve()
    return f"{named}_again"


def _command(record: Record, *words: str) -> str:
    """The command line with these words, for as many processes as the run had, and its plug-ins."""
    size, here = (int(record.number(key) or 1) for key in ("processes", "local_processes"))
    place = Place(size=size, local_size=here) if 1 <= here <= size else ALONE
    plugins = ",".join(record.settings.plugins) if record.settings else ""
    return command_line(*words, *([f"plugins={plugins}"] if plugins else []), place=place)
