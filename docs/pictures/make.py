"""Makes the pictures of pages in the documents, with Chromium: report.png and score.png.

    python docs/pictures/make.py [run=FOLDER] [key=value …]

trains with recipe=shakespeare and these keys, or goes on with a copy of the run in a folder, and
takes pictures of how three pages begin: the run's report, the validation text in the colours of its
surprise, and in those of the cell that best follows the place in the line.
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from seqkit.cli import main

_FOLDER = Path(__file__).resolve().parent
_SIZE = "900,900"  # pixels
_RUN, _SCORE = "runs/a", Path("score.html")


def make(words: Sequence[str]) -> int:
    """Write the pictures; the exit code of what failed, or 0."""
    keys = [word for word in words if not word.startswith("run=")]
    run = next((Path(word[4:]).absolute() for word in words if word.startswith("run=")), None)
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        print("make.py: no Chromium on this machine: install it", file=sys.stderr)
        return 2
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        contextlib.chdir(name),  # so that the pages name the run as README does
    ):
        if run:
            shutil.copytree(run, _RUN)
        train = ["recipe=shakespeare", *keys, f"run_dir={_RUN}", "resume=auto"]
        report = ["report", f"run_dir={_RUN}"]  # in which the run has its name here
        if code := main(train) or main(report) or _score():
            return code
        pages = {"report": Path(_RUN) / "report.html", "score": _SCORE}
        for picture, page in pages.items():
            take(program, page, _FOLDER / f"{picture}.png", Path(name) / "browser")
    return 0


def _score() -> int:
    """Make the page of `score`; the exit code of what failed, or 0."""
    return main(["score", f"checkpoint={_RUN}", f"out={_SCORE}"])


def take(program: str, page: Path, out: Path, profile: Path) -> None:
    """What Chromium shows of a page, as a PNG."""
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={profile}", f"--window-size={_SIZE}", f"--screenshot={out}"]
    subprocess.run([*command, page.absolute().as_uri()], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(make(sys.argv[1:]))
