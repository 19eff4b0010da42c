"""`play`: a server on this machine, of a page and of plain HTTP, behind which models run."""

import secrets
import socket
from pathlib import Path

from seqkit.config import RUNS, Keys
from seqkit.foundation import device, stdout
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import CheckpointError, ConfigError
from seqkit.foundation.run_folders import find_runs, runs_below
from seqkit.runs import named_checkpoint
from seqkit.runs.named_checkpoint import load_checkpoint

_HERE = "127.0.0.1"
_CONNECTIONS = 128  # at once; each of them may send a few megabytes
_SENT = 1 << 16  # bytes on their way to a client: what more it does not read is not made
_GRACE = 1  # seconds for what is being sent when the server ends


def run(keys: Keys, catalogue: Catalogue, console: Console) -> None:
    """Print the link to the page, and answer until a signal comes."""
    try:
        import uvicorn

        from seqkit.play.loaded import Loaded
        from seqkit.play.server import Gate, Impatient, Server
    except ImportError as error:
        raise ConfigError("play needs starlette and uvicorn: pip install 'seqkit[play]'") from error
    names = _offered(keys.checkpoint, keys.runs)
    chosen = device.find_device(keys.device, for_all=True)

    def load(name: str) -> Loaded:
        saved = load_checkpoint(name, catalogue, Console(quiet=True))
        return Loaded(saved, chosen, keys.sample)

    def loads(name: str) -> bool:
        try:
            return bool(server.load(name))
        except CheckpointError as error:
            if len(names) == 1:
                raise
            console.notice(f"not offered: {error}")
            return False

    server = Server(names, load, console.notice)
    with console.progress("loading the first model"):
        while not loads(names[0]):
            names.pop(0)
    token = secrets.token_urlsafe(18)
    with _listening(keys.port) as listener:
        stdout.write(f"http://{_HERE}:{listener.getsockname()[1]}/?token={token}")
        console.notice("open this link in a browser; Ctrl-C ends the server")
        settings = uvicorn.Config(
            Gate(server.app(), token), http=Impatient, ws="none", lifespan="off",
            log_level="critical", access_log=False, server_header=False,
            limit_concurrency=_CONNECTIONS, timeout_graceful_shutdown=_GRACE,
        )  # fmt: skip
        uvicorn.Server(settings).run([listener])


def _offered(checkpoint: str | None, runs: str) -> list[str]:
    """The checkpoints that can be chosen. Raises ConfigError if `runs` is given and names none."""
    if checkpoint is not None:
        return [checkpoint]
    found = runs_below(Path(runs)) if runs == RUNS else find_runs(runs)[0]
    return [*map(str, found), *named_checkpoint.ready_made()]


def _listening(port: int) -> socket.socket:
    """A socket that listens, for this machine alone. Raises ConfigError where none can."""
    try:
        listener = socket.create_server((_HERE, port))
    except OSError as error:
        fault = f"port={port}: {error.strerror}"
        raise ConfigError(f"{fault}: give another port, or port=0 for any that is free") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SENT)  # of its connections, too
    return listener
