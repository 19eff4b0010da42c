"""A stand-in for the Hugging Face hub on this machine: repositories, their files, one token."""

import base64
import contextlib
import hashlib
import http.server
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.serving import served

TOKEN = "hf_" + "x" * 34
COMMIT = "c0" * 20


@dataclass
class Hub:
    """What it holds, and how it answers.

    repositories: the files of each, by path.
    large: contents that came outside a commit, by their sha256.
    status: of each answer about repositories, if it is no success.
    asked: method and path of each request.
    """

    url: str = ""
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)
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

        def do_PUT(self) -> None:
            self.answer()

        def answer(self) -> None:
            given = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            about.asked.append(f"{self.command} {path}")
            if about.status != 200:
                return self.send(about.status, {"error": "no"})
            found = self.found(path, given)
            return self.send(*found if isinstance(found, tuple) else (200, found))

        def found(self, path: str, given: bytes) -> Any:
            """The answer, with its status if it is not 200."""
            if path.startswith("/large/"):
                about.large[hashlib.sha256(given).hexdigest()] = given
                return {}
            may_write = self.headers.get("Authorization") == f"Bearer {TOKEN}"
            if path == "/api/validate-yaml":
                return {}
            if path == "/api/repos/create":
                if not may_write:
                    return 401, {"error": "Invalid username or password."}
                asked = json.loads(given)
                name = f"{asked['organization']}/{asked['name']}"
                status = 409 if name in about.repositories else 200
                about.repositories.setdefault(name, {})
                return status, {"url": f"{about.url}/{name}"}
            parts = re.match(r"/(?:api/models/)?([\w.-]+/[\w-][\w.-]*?)(?:\.git)?(/.*)?$", path)
            if parts is None or parts[1] not in about.repositories:
                return 404, {"error": "Repository not found"}
            return self.of_repository(parts[1], parts[2] or "", given, may_write)

        def of_repository(self, name: str, rest: str, given: bytes, may_write: bool) -> Any:
            files = about.repositories[name]
            if rest in ("", "/revision/main"):
                return {"id": name, "sha": COMMIT, "siblings": [], "private": False, "tags": []}
            if rest.startswith("/paths-info/"):
                asked = json.loads(given)["paths"]
                return [entry(path, files[path]) for path in asked if path in files]
            if rest.startswith("/tree/"):
                return [entry(path, content) for path, content in files.items()]
            if rest.startswith("/resolve/"):
                path = rest.removeprefix("/resolve/").partition("/")[2]
                return files.get(path, (404, {"error": "Entry not found"}))
            if not may_write:
                return 403, {"error": "no"}
            if rest.startswith("/preupload/"):
                modes = [
                    {
                        "path": file["path"],
                        "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
                        "shouldIgnore": False,
                    }
                    for file in json.loads(given)["files"]
                ]
                return {"files": modes}
            if rest == "/info/lfs/objects/batch":
                objects = [
                    {**one, "actions": {"upload": {"href": f"{about.url}/large/{one['oid']}"}}}
                    for one in json.loads(given)["objects"]
                ]
                return {"transfer": "basic", "objects": objects}
            if rest.startswith("/commit/"):
                for line in map(json.loads, given.splitlines()):
                    value = line["value"]
                    if line["key"] == "file":
                        files[value["path"]] = base64.b64decode(value["content"])
                    elif line["key"] == "lfsFile":
                        files[value["path"]] = about.large[value["oid"]]
                return {"commitUrl": f"{about.url}/{name}/commit/{COMMIT}", "commitOid": COMMIT}
            return 404, {"error": rest}

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

    with served(Handler) as about.url:
        yield about


def entry(path: str, content: bytes) -> dict[str, Any]:
    """What the hub says of a file."""
    digest = hashlib.sha256(content).hexdigest()
    return {"type": "file", "path": path, "size": len(content), "oid": digest[:40]}
