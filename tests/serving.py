"""A server of a test's own on this machine."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def served(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """The URL at which a handler answers, each request in a thread, until the block ends."""
    with http.server.ThreadingHTTPServer(("localhost", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_address[1]}"
        server.shutdown()
        thread.join()
