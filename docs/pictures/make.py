"""Makes the pictures of pages in README, with Chromium: report.png and score.png.

    python docs/pictures/make.py [key=value …]

trains with recipe=shakespeare and these keys, and takes a picture of the beginnings of the run's
report and of the heat map of its validation text.
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
_RUN = "runs/a"


def make(keys: Sequence[str]) -> int:
    """Write the pictures; the exit code of what failed, or 0."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        print("make.py: no Chromium on this machine: install it", file=sys.stderr)
        return 2
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        contextlib.chdir(name),  # so that the pages name the run as README does
    ):
        pages = {"report": Path(_RUN) / "report.html", "score": Path("score.html")}
        code = main(["recipe=shakespeare", *keys, f"run_dir={_RUN}"])
        code = code or main(["score", f"checkpoint={_RUN}", f"out={pages['score']}"])
        if code == 0:
            for picture, page in pages.items():
                take(program, page, _FOLDER / f"{picture}.png", Path(name) / "browser")
    return code


def take(program: str, page: Path, out: Path, profile: Path) -> None:
    """What Chromium shows of a page, as a PNG."""
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={profile}", f"--window-size={_SIZE}", f"--screenshot={out}"]
    subprocess.run([*command, page.absolute().as_uri()], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(make(sys.argv[1:]))
