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

    def answer(self, path: str) -> tuple[int, Any]:
        """Status and content of the answer about a repository or one of its files."""
        parts = re.match(r"/(?:api/models/)?(\w+/\w+)(?:/(\w+)/\w+(?:/(.*))?)?$", path)
        if self.status != 200 or parts is None or parts[1] not in self.repositories:
            return max(self.status, 401), {"error": "no"}
        files = self.repositories[parts[1]]
        if parts[2] == "resolve":
            return (200, files[parts[3]]) if parts[3] in files else (404, {"error": "no entry"})
        return 200, {"id": parts[1], "sha": COMMIT, "siblings": [], "private": False, "tags": []}


@contextlib.contextmanager
def hub() -> Iterator[Hub]:
    """Answer as the hub does while the block lasts."""
    about = Hub()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            about.asked.append(f"{self.command} {path}")
            status, found = about.answer(path)
            content = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Type", "application/json")
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with served(Handler) as about.url:
        yield about
