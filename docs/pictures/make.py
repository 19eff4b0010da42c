"""Takes the pictures of pages in the documents, with Chromium: report.png and score.png.

    python docs/pictures/make.py FOLDER

shows how two pages of a run of text begin: its report, and its validation text in the colours of
its surprise.
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from seqkit.cli import main

_FOLDER = Path(__file__).resolve().parent
_SIZE = "900,900"  # pixels
_RUN = Path("runs/a")  # the name that the pages show, as README has it


def make(run: Path) -> int:
    """Write the pictures; the exit code of what failed, or 0."""
    run = run.absolute()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        contextlib.chdir(name),
    ):
        shutil.copytree(run, _RUN)
        score = ["score", f"checkpoint={_RUN}", "out=score.html"]
        if code := main(["report", f"run_dir={_RUN}"]) or main(score):
            return code
        take(_RUN / "report.html", _FOLDER / "report.png", Path(name) / "browser")
        take(Path("score.html"), _FOLDER / "score.png", Path(name) / "browser")
    return 0


def take(page: Path, out: Path, profile: Path) -> None:
    """What Chromium shows of a page, as a PNG."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={profile}", f"--window-size={_SIZE}", f"--screenshot={out}"]
    subprocess.run([*command, page.absolute().as_uri()], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(make(Path(sys.argv[1])))
