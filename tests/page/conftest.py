"""What tests of the page share: a browser, models that learnt next to nothing, and their pages."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.cli import main
from tests.browser import Page, browser
from tests.commands.conftest import RATE
from tests.commands.conftest import TINY as SOUND
from tests.conftest import TINY as TEXT
from tests.conftest import Run, shared

Opened = Callable[..., Page]
TIERS = ("model.input=embedding", "model.hidden_size=16", "model.lookback=20")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def opened(chromium: Page, run: Run, tmp_path: Path) -> Opened:
    """Open the page of a checkpoint; its text is changed by a function that may be given."""

    def call(
        checkpoint: str | Path, *, change: Callable[[str], str] = str, ready: bool = True,
        scheme: str = "light", width: int = 900, title: str = "page",
    ) -> Page:  # fmt: skip
        out = tmp_path / f"{title}.html"
        made = run("export", f"checkpoint={checkpoint}", f"out={out}", "overwrite=true")
        assert made.code == 0, made.err
        out.write_text(change(out.read_text()))
        chromium.errors.clear()
        chromium.requests.clear()
        chromium.open(out, scheme=scheme, width=width)
        if ready:
            chromium.wait("document.body.dataset.ready")
        return chromium

    return call


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs: words (two voices, codes), notes, stereo, bands, bytes, hostile.

    A frame of stereo has two symbols, one of bands four.
    """

    def train(folder: Path) -> None:
        (folder / "sounds").mkdir()
        times = np.arange(RATE) / RATE
        for name, hertz in (("low", 110), ("high", 440)):
            for number in range(2):
                tone = 0.4 * np.cos(2 * np.pi * hertz * 2**number * times)
                soundfile.write(folder / "sounds" / f"{name}_{number}.wav", tone, RATE)
        (folder / "pairs").mkdir()
        pair = np.stack([np.cos(times * 700), np.cos(times * 2100)], 1)
        soundfile.write(folder / "pairs" / "a.wav", 0.4 * pair, RATE)
        hostile = (
            "</script><script>document.title = 'owned'</script>\u2028{{model}} \\u003c☃\r&amp;"
        )
        (folder / "hostile.txt").write_text(hostile * 40, newline="")
        emphasis = ("data.emphasis=auto", "data.gain=peak")
        for name, words in {
            "words": (*SOUND, *TIERS, "data.label=^([a-z]+)_", "data.conditions=codes"),
            "stereo": (*SOUND, *TIERS, "data.channels=2"),
            "notes": (*SOUND, *TIERS, *emphasis, "data.conditions=pitch"),
            "bands": (*SOUND, *TIERS, *emphasis, "data.bands=2", "data.channels=2"),
            "bytes": (*TEXT, "data.kind=bytes"),
            "hostile": TEXT,
        }.items():
            path = "hostile.txt" if name in ("bytes", "hostile") else "sounds"
            path = "pairs" if name == "stereo" else path
            given = (f"data.path={folder / path}", f"run_dir={folder / name}", "train.max_steps=2")
            assert main([*words, *given]) == 0

    return shared(tmp_path_factory, "pages", train)
