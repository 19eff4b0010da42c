"""The page in a real browser: nothing complained of, nothing asked for, hostile text is text."""

import base64
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.advice import run_page
from seqkit.config import Config
from seqkit.foundation.run_folders import RunFiles
from tests.advice.conftest import Leave, keep
from tests.browser import Page, browser, needs_browser

TAGS = "<script>document.title = 'owned'</script><img src=x onerror=alert(1)>"
HOSTILE = f"{TAGS}\u202eevil\x1b[31m\0 "
LONG = "x" * 10_000_000


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


def tone(rate: int, seconds: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return 0.5 * np.sin(2 * np.pi * 440 * np.arange(int(rate * seconds)) / rate)


@pytest.fixture
def hostile(leave: Leave) -> Path:
    """A run in which every text is hostile, and long where it may be."""
    run = leave(
        [3.0, 2.0, 1.9], [2.5, 2.1],
        device=HOSTILE, dtype=HOSTILE, versions={"torch": HOSTILE, "seqkit": ["a"]},
        data={"name": HOSTILE, "sha256": LONG[:900_000], "kind": "text"},
    )  # fmt: skip
    files = RunFiles(run)
    text = HOSTILE.replace("\0", "")
    keep(run, Config(recipe=text, prompt=text))
    files.metrics.write_bytes(files.metrics.read_bytes() + HOSTILE.encode() + LONG.encode())
    (files.samples / "step_0000500.txt").write_text(HOSTILE)
    (files.samples / "step_0001000.txt").write_text(LONG)
    soundfile.write(files.samples / "step_0000500.wav", tone(8000, 0.5), 8000)
    soundfile.write(files.samples / "data.wav", tone(8000, 0.5), 8000)
    (files.samples / "step_0000750.wav").write_text(HOSTILE)
    named = run.with_name(f"{HOSTILE.replace('/', '_').strip(' ').replace(chr(0), '')}")
    return run.rename(named)


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1100])
def test_a_browser_shows_hostile_runs_as_text(
    scheme: str, width: int, hostile: Path, chromium: Page
) -> None:
    file = run_page.write(hostile)
    chromium.errors.clear()
    chromium.requests.clear()
    chromium.open(file, scheme=scheme, width=width)
    assert chromium.errors == []
    assert {url.partition(":")[0] for url in chromium.requests} == {"file", "data"}
    assert sum(url.startswith("file:") for url in chromium.requests) == 1
    assert chromium.ask("document.documentElement.scrollWidth") <= width
    assert chromium.ask("document.scripts.length") == 0
    assert "owned'" in chromium.ask("document.title")  # the name of the folder
    seen = chromium.ask("document.querySelector('article pre').textContent")
    assert seen.rstrip() == f"{TAGS}\\u202eevil\\x1b[31m\\x00"
    paper = chromium.ask("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 29)"}[scheme]
    assert chromium.ask("document.querySelectorAll('audio').length") == 2
    pictures = "[...document.images].every(image => image.naturalWidth > 0)"
    assert chromium.ask(pictures) is True


def test_what_is_too_long_is_cut_and_said(hostile: Path) -> None:
    html = run_page.write(hostile).read_text()
    assert len(html) < 3_000_000
    assert "xxx…" in html
    assert "<script" not in html
    assert "\u202e" not in html


@pytest.mark.parametrize(
    ("train", "validation"),
    [([3.0, 2.0, 9e35, 1.9], [2.5]), ([0.0] * 9, []), ([], [1.0, 1.0]), ([2.0], [])],
)
def test_odd_losses_are_drawn(train: list[float], validation: list[float], leave: Leave) -> None:
    run = leave(train, validation)
    norms = re.sub('"loss"', '"gradient_norm": 0.0, "loss"', RunFiles(run).metrics.read_text())
    RunFiles(run).metrics.write_text(norms)
    page = run_page.write(run).read_text()
    (picture,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', page)
    assert ET.fromstring(base64.b64decode(picture)).tag.endswith("svg")


def test_each_sample_stands_under_its_step_and_loss_in_order(leave: Leave) -> None:
    run = leave([3.0, 2.0], [2.5, 2.125])
    for step in (1000, 500, 20_000_000):
        (RunFiles(run).samples / f"step_{step:07}.txt").write_text(f"at {step}\r\n")
    (run / "samples" / "step_0000001.txt").symlink_to("/etc/hostname")
    (run / "samples" / "notes.txt").write_text("mine")
    shown = re.findall(r"<article>\n<p class=\"muted\">(.*?)</p>\n<pre dir=\"auto\">(.*?)</pre>",
                       run_page.write(run).read_text(), re.S)  # fmt: skip
    assert shown == [
        ("step 500, loss 2.500", "at 500\n"),
        ("step 1,000, loss 2.125", "at 1000\n"),
        ("step 20,000,000", "at 20000000\n"),
    ]
