"""Takes the pictures of pages in the documents, with Chromium: report.png and surprise.png.

    python docs/pictures/make.py FOLDER TEXT

shows how two pages begin: the report of a run of text, and a text in the colours of its surprise.
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from seqkit.cli import main

_FOLDER = Path(__file__).resolve().parent
_EXAMPLES = _FOLDER.parent.parent / "examples"
_SIZE = "900,900"  # pixels
_RUN = Path("runs/a")  # the name that the pages show, as README has it


def make(run: Path, text: Path) -> int:
    """Write the pictures; the exit code of what failed, or 0."""
    run, text = run.absolute(), text.absolute()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        contextlib.chdir(name),
    ):
        shutil.copytree(run, _RUN)
        if code := main(["report", f"run_dir={_RUN}"]):
            return code
        surprise = [sys.executable, _EXAMPLES / "surprise.py", _RUN, text]
        Path("page.html").write_bytes(subprocess.check_output(surprise))
        take(_RUN / "report.html", _FOLDER / "report.png", Path(name) / "browser")
        take(Path("page.html"), _FOLDER / "surprise.png", Path(name) / "browser")
    return 0


def take(page: Path, out: Path, profile: Path) -> None:
    """What Chromium shows of a page, as a PNG."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={profile}", f"--window-size={_SIZE}", f"--screenshot={out}"]
    subprocess.run([*command, page.absolute().as_uri()], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(make(*map(Path, sys.argv[1:])))
