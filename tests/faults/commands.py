"""A line for every command, of which each writes what it can."""

import shutil
from pathlib import Path

from tests.conftest import SENTENCE, TINY


def lines(trained: Path, folder: Path) -> dict[str, list[str]]:
    """The words of every command, to be run in `folder`, which is filled with what they read."""
    (folder / "a.txt").write_text(SENTENCE * 40)
    shutil.copytree(trained, folder / "own")
    given = ["checkpoint=own", "device=cpu"]
    data = [*given, "data.path=a.txt"]
    again = "overwrite=true"
    return {
        "train": [*TINY, "data.path=a.txt", "run_dir=run", "train.max_steps=9", "resume=auto"],
        "generate": ["generate", *given, "length=3000", "out=b.txt", again],
        "evaluate": ["evaluate", *data, "out=b.json", again],
        "score": ["score", *data, "out=b.jsonl", again],
        "compare": ["compare", "runs=own"],
        "report": ["report", "run_dir=own"],
        "doctor": ["doctor", "data.path=a.txt", "device=cpu", "out=b.md", again],
        "inspect": ["inspect", "checkpoint=own"],
        "export": ["export", "checkpoint=own", "out=b.html", again],
    }
