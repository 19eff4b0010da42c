"""A site on this machine, whose files come whole, cut short, late or changed."""

import contextlib
import http.server
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.serving import served

CONTENT = b"words, words, words\n" * 100


@dataclass
class Site:
    """What the server has, and what it was asked for.

    files: contents by path.
    cut: how many bytes of each file are sent; None for all.
    during: called when a file is asked for, before its content is sent.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    cut: int | None = None
    during: Callable[[], object] = lambda: None


def files_in(folder: Path) -> list[Path]:
    """All files below a folder, half ones included."""
    return [path for path in folder.rglob("*") if path.is_file()]


@contextlib.contextmanager
def site() -> Iterator[Site]:
    """Serve files by HTTP while the block lasts."""
    about = Site(files={"/novel.txt": CONTENT})

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = about.files.get(self.path, b"")
            self.send_response(200 if content else 404)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: about.cut])
            self.wfile.flush()
            about.during()

        def log_message(self, *_: object) -> None:
            pass

    with served(Handler) as about.url:
        yield about
