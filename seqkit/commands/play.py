"""`play`: a server on this machine, of a page and of plain HTTP, behind which models run."""

import ipaddress
import secrets
import socket
from pathlib import Path

from seqkit.api.model import load_checkpoint
from seqkit.config import Config
from seqkit.foundation import device, stdout
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.plugins import Catalogue
from seqkit.runs import named_checkpoint
from seqkit.runs.layout import find_runs, runs_below

_CONNECTIONS = 128  # each of which may send a few megabytes
_SENT = 1 << 16  # bytes on their way to a client: what more it does not read is not made
_GRACE = 1  # seconds for what is being sent when the server ends


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Print the link to the page, and answer until a signal comes."""
    try:
        import uvicorn

        from seqkit.play.gate import Gate
        from seqkit.play.loaded import Loaded
        from seqkit.play.server import Server
    except ImportError as error:
        raise ConfigError("play needs starlette and uvicorn: pip install 'seqkit[play]'") from error
    places, chosen = _offered(config), device.choose_device(config.device)

    def load(name: str) -> Loaded:
        saved = load_checkpoint(places[name], catalogue, Console(quiet=True))
        return Loaded(saved, chosen, config.sample)

    server = Server([*places], load, console.notice)
    with console.progress("loading the first model"):
        server.load(next(iter(places)))
    token = secrets.token_urlsafe(18)
    with _listening(config.host, config.port) as own:
        if not ipaddress.ip_address(own.getsockname()[0]).is_loopback:
            console.notice("others may ask, too: whoever knows the token, which is sent openly")
        host = f"[{config.host}]" if ":" in config.host else config.host
        stdout.write(f"http://{host}:{own.getsockname()[1]}/?token={token}")
        console.notice("open this link in a browser; Ctrl-C ends the server")
        settings = uvicorn.Config(
            Gate(server.app(), config.host, token), http="h11", ws="none", lifespan="off",
            log_level="critical", access_log=False, server_header=False,
            limit_concurrency=_CONNECTIONS, timeout_graceful_shutdown=_GRACE,
        )  # fmt: skip
        uvicorn.Server(settings).run([own])


def _offered(config: Config) -> dict[str, str]:
    """The checkpoints that can be chosen, by what they are called on the page.

    Raises ConfigError if `runs` is given and names none.
    """
    if config.checkpoint is not None:
        return {config.checkpoint: config.checkpoint}
    folder = Path(config.runs)
    found = runs_below(folder) if config.runs == Config().runs else find_runs(config.runs)[0]
    runs = {
        str(run.relative_to(folder) if folder in run.parents else run): str(run) for run in found
    }
    return runs | {name: name for name in named_checkpoint.ready_made() if name not in runs}


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises ConfigError where none can."""
    try:
        [found, *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        made = socket.create_server(found[4][:2], family=found[0])
    except (OSError, UnicodeError) as error:
        told = f"host={host} port={port}: {getattr(error, 'strerror', None) or error}"
        raise ConfigError(f"{told}: give another port, or port=0 for any that is free") from error
    made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SENT)  # of its connections, too
    return made
