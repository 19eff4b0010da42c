"""What tests of the server share: one that runs as a process of its own, and how it is asked."""

import contextlib
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.conftest import environment
from tests.page.conftest import models
from tests.warm_python import python


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


__all__ = ["models"]


@pytest.fixture(scope="module")
def server(trained: Path) -> Iterator[Server]:
    """One that offers the run `run`, which learnt a sentence, and the ready-made models."""
    with serving(f"runs={trained.parent}") as found:
        yield found
