"""What tests of pages and the server share: a browser, models, their pages, and a server."""

import contextlib
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import soundfile

from seqkit.cli import main
from tests.browser import Page, browser
from tests.commands.conftest import RATE
from tests.commands.conftest import TINY as SOUND
from tests.conftest import TINY as TEXT
from tests.conftest import Run, environment, shared
from tests.warm_python import python

Opened = Callable[..., Page]
FRAMES = ("data.codec=spectral", "train.sequence_length=16")
SMALL = ("model.input=embedding", "model.hidden_size=16")


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
    """Runs: words (two voices), frames (of two voices, spectral), stereo, bytes, hostile."""

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
        for name, words in {
            "words": (*SOUND, *SMALL, "data.label=^([a-z]+)_"),
            "frames": (*SOUND, *SMALL, *FRAMES, "data.label=^([a-z]+)_"),
            "stereo": (*SOUND, *SMALL, *FRAMES, "data.channels=2"),
            "bytes": (*TEXT, "data.kind=bytes"),
            "hostile": TEXT,
        }.items():
            path = "hostile.txt" if name in ("bytes", "hostile") else "sounds"
            path = "pairs" if name == "stereo" else path
            given = (f"data.path={folder / path}", f"run_dir={folder / name}", "train.max_steps=2")
            assert main([*words, *given]) == 0

    return shared(tmp_path_factory, "pages", train)


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def error(self) -> str:
        return str(json.loads(self.body)["error"])


@dataclass(frozen=True)
class Server:
    """A server that listens."""

    link: str
    process: "subprocess.Popen[str]"

    @property
    def base(self) -> str:
        return self.link.partition("?")[0]

    @property
    def token(self) -> str:
        return self.link.partition("=")[2]

    def request(
        self, path: str = "generate", body: bytes | None = b"", token: str | None = None,
        headers: dict[str, str] | None = None, **keys: object,
    ) -> urllib.request.Request:  # fmt: skip
        known = {"Authorization": f"Bearer {self.token if token is None else token}"}
        url = f"{self.base}{path}?{urlencode(keys)}"
        return urllib.request.Request(url, body, known | (headers or {}))

    def ask(self, *words: Any, **keys: Any) -> Answer:
        try:
            with urllib.request.urlopen(self.request(*words, **keys)) as found:
                return Answer(found.status, found.read(), dict(found.headers))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.read(), dict(error.headers))


@contextlib.contextmanager
def serving(*words: str, program: str | None = None) -> Iterator[Server]:
    """A server of its own on a free port, which ends with the block; `program` is its Python."""
    process = subprocess.Popen(
        [program or python(), "-m", "seqkit", "play", "port=0", "device=cpu", *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        link = process.stdout.readline().strip()
        assert link, process.communicate()[1]
        yield Server(link, process)
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def server(trained: Path) -> Iterator[Server]:
    """One that offers the run `run`, which learnt a sentence, and the ready-made models."""
    with serving(f"runs={trained.parent}") as found:
        yield found
