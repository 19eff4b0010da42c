"""A stand-in for the Hugging Face hub on this machine: repositories and their files, to read."""

import contextlib
import hashlib
import http.server
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.serving import served

COMMIT = "c0" * 20


@dataclass
class Hub:
    """What it holds, and how it answers.

    repositories: the files of each, by path.
    status: of each answer, if it is no success.
    asked: method and path of each request.
    """

    url: str = ""
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    status: int = 200
    asked: list[str] = field(default_factory=list)


@contextlib.contextmanager
def hub() -> Iterator[Hub]:
    """Answer as the hub does while the block lasts."""
    about = Hub()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def answer(self) -> None:
            given = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            about.asked.append(f"{self.command} {path}")
            if about.status != 200:
                return self.send(about.status, {"error": "no"})
            parts = re.match(r"/(?:api/models/)?([\w.-]+/[\w.-]+)(/.*)?$", path)
            if parts is None or parts[1] not in about.repositories:
                return self.send(404, {"error": "Repository not found"})
            return self.send(*of_repository(parts[1], parts[2] or "", given))

        def send(self, status: int, found: Any) -> None:
            content = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Type", "application/json")
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
            if status == 404:
                missing = "Entry" if "Entry" in str(found) else "Repo"
                self.send_header("X-Error-Code", f"{missing}NotFound")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    def of_repository(name: str, rest: str, given: bytes) -> tuple[int, Any]:
        """Status and answer about what a repository holds."""
        files = about.repositories[name]
        if rest in ("", "/revision/main"):
            return 200, {"id": name, "sha": COMMIT, "siblings": [], "private": False, "tags": []}
        if rest.startswith("/paths-info/"):
            asked = json.loads(given)["paths"]
            return 200, [entry(path, files[path]) for path in asked if path in files]
        if rest.startswith("/tree/"):
            return 200, [entry(path, content) for path, content in files.items()]
        if rest.startswith("/resolve/"):
            path = rest.removeprefix("/resolve/").partition("/")[2]
            return (200, files[path]) if path in files else (404, {"error": "Entry not found"})
        return 404, {"error": rest}

    with served(Handler) as about.url:
        yield about


def entry(path: str, content: bytes) -> dict[str, Any]:
    """What the hub says of a file."""
    digest = hashlib.sha256(content).hexdigest()
    return {"type": "file", "path": path, "size": len(content), "oid": digest[:40]}
