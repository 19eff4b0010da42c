"""What `python -m seqkit` alone shows on a terminal: what there is, and how to go on."""

import shlex
from pathlib import Path

import seqkit
from seqkit.config import Config
from seqkit.foundation.run_folders import is_run

_PROGRAM = "python -m seqkit"
_SHOWN = 3  # runs, the newest first
_SCREEN = """\
seqkit {version}: sequence models of text and sound, symbol by symbol.

Two models to try:
  {program} generate checkpoint=shakespeare prompt=ROMEO:
  {program} generate checkpoint=etude seconds=5

To learn from your own text or sound:
  {program} doctor data.path=my.txt
  {program} recipe=shakespeare data.path=my.txt
  {program} recipe=my_sound data.path=take.wav
{runs}
All commands and recipes: {program} --help"""
_RUNS = """
Runs in {folder}, the newest first:
{names}
To go on with the newest:
  {program} generate checkpoint={newest}
  {program} {further}
"""


def screen(folder: Path = Path(Config.runs)) -> str:
    """The text; `folder` is where runs are looked for."""
    places = [*folder.glob("[!.]*/checkpoints"), *folder.glob("[!.]*/[!.]*/checkpoints")]
    dated = sorted(((place.stat().st_mtime, place.parent) for place in places), reverse=True)
    found = [run for _, run in dated if is_run(run)]
    runs = ""
    if found:
        rest = f"  … and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        names = [f"  {run}" for run in found[:_SHOWN]] + [rest] * bool(rest)
        newest = shlex.quote(str(found[0]))
        is_over = (found[0] / "summary.json").is_file()
        further = f"report run_dir={newest}" if is_over else f"run_dir={newest} resume=auto"
        runs = _RUNS.format(
            folder=folder, names="\n".join(names), program=_PROGRAM, newest=newest, further=further
        )
    return _SCREEN.format(version=seqkit.__version__, program=_PROGRAM, runs=runs)
