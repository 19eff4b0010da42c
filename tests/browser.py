"""A real browser without a window, asked through the pipe of Chromium's DevTools protocol."""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

_PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
_LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_LONGEST = 120_000  # milliseconds
needs_browser = pytest.mark.skipif(not _PROGRAM, reason="no Chromium: apt install chromium")


class Page:
    """One page: what it says of itself, and what it complained of or asked for."""

    def __init__(self, commands: IO[bytes], answers: IO[bytes]) -> None:
        self._commands, self._answers = commands, answers
        self._number = 0
        self._session: dict[str, str] = {}
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._events: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Log", "Network", "Page", "Runtime"):
            self._call(f"{domain}.enable")

    def open(self, place: Path | str, *, scheme: str = "light", width: int = 360) -> None:
        """Load a file or a URL, to its end, in a window so wide."""
        self._call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=800, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self._events.clear()
        url = place if isinstance(place, str) else place.absolute().as_uri()
        self._call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self._events:
            self._read()

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page, or that of what it promises."""
        given = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        found = self._call("Runtime.evaluate", **given)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        """Go on when an expression is true in the page; a limit only ends what hangs."""
        promise = f"""new Promise((done, fail) => {{
            setTimeout(() => fail(new Error("waited too long")), {_LONGEST});
            const look = () => ({expression}) ? done(true) : setTimeout(look, 10);
            look(); }})"""
        assert self.ask(promise)

    def before(self, script: str) -> str:
        """Run a script in every page that is opened from now on, before its own."""
        added = self._call("Page.addScriptToEvaluateOnNewDocument", source=script)
        return str(added["identifier"])

    def forget(self, script: str) -> None:
        """No longer run what `before` named so."""
        self._call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)

    def point(self, selector: str, *kinds: str) -> None:
        """Press and release the mouse on an element, or only the one of both."""
        x, y = self.ask(
            f"(() => {{ const own = document.querySelector({json.dumps(selector)});"
            "own.scrollIntoView({block: 'center'}); const box = own.getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in kinds or ("mousePressed", "mouseReleased"):
            given = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
            self._call("Input.dispatchMouseEvent", **given)

    def write(self, text: str) -> None:
        """Enter a text where the focus is."""
        self._call("Input.insertText", text=text)

    def press(self, key: str, code: int = 0, *kinds: str) -> None:
        """Press and release a key, by its name and its number on Windows, or only one of both."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        for kind in kinds or ("keyDown", "keyUp"):
            given = {"type": kind, "key": key, "windowsVirtualKeyCode": code, **text}
            self._call("Input.dispatchKeyEvent", **given)

    def _call(self, method: str, **given: object) -> dict[str, Any]:
        self._number += 1
        call = {"id": self._number, "method": method, "params": given, **self._session}
        self._commands.write(json.dumps(call).encode() + b"\0")
        self._commands.flush()
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _read(self) -> dict[str, Any]:
        content = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "the browser has gone"
            content += byte
        message: dict[str, Any] = json.loads(content)
        method, given = message.get("method", ""), message.get("params", {})
        self._events.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"][:200])
        elif method in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
            self.errors.append(json.dumps(given)[:500])
        return message


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A browser that keeps its files in a folder."""
    assert _PROGRAM
    read_commands, write_commands = os.pipe()
    read_answers, write_answers = os.pipe()
    # Where --remote-debugging-pipe looks for them: at 3 and 4, which may be taken here.
    theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read_commands, write_answers)]
    program = subprocess.Popen(
        [
            *(sys.executable, "-c", _LAUNCH, *map(str, theirs), _PROGRAM),
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--remote-debugging-pipe", f"--user-data-dir={folder}", "--no-first-run"),
        ],
        pass_fds=theirs,
        stderr=subprocess.DEVNULL,
    )
    for end in (read_commands, write_answers, *theirs):
        os.close(end)
    try:
        with os.fdopen(write_commands, "wb") as commands, os.fdopen(read_answers, "rb") as answers:
            yield Page(commands, answers)
    finally:
        program.kill()
        program.wait()
