"""The command that goes on with a run, does more of it or makes it again."""

from pathlib import Path

from seqkit.foundation.command_line import command_line
from seqkit.foundation.config_file import RENAMED
from seqkit.foundation.processes import ALONE, Place
from seqkit.runs.record import Record


def resume(record: Record, *keys: str) -> str:
    """The command that goes on with a run, with other keys."""
    return _command(record, f"run_dir={record.path}", "resume=auto", *keys)


def more(record: Record) -> str:
    """The command that doubles a run; empty where its settings cannot be read."""
    if record.settings is None:
        return ""
    train, keys = record.settings.train, []
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
