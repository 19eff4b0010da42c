"""The server: the page, and samples, which are streamed as they are made.

One thread computes. All that ask have places, and those that have one take turns piece by piece: so
nobody waits for the end of somebody else's sample, and what nobody reads takes no turn. Only those
may ask that know the token, and no page of another site.
"""

import asyncio
import contextlib
import functools
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, get_args, get_type_hints

from h11 import LocalProtocolError
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from seqkit.foundation import dropped
from seqkit.foundation.console import Notice
from seqkit.foundation.errors import ConfigError, DataError, SeqkitError, of_plugin
from seqkit.foundation.settings import nearest
from seqkit.play.loaded import Loaded, Pieces
from seqkit.play.page import filled
from seqkit.runs.asked import GenerateKeys
from seqkit.symbols import SEEDS

_SILENT = 5  # seconds that a connection may take for the head of its first request
_PATIENCE = 30  # seconds for which a client may neither send nor take anything
_SAMPLES = 16  # that take turns, each with an engine in memory
_WAITING = 64  # samples that wait for such a place; who asks after them is sent away
_BODY = {False: 1 << 20, True: 8 << 20}  # bytes that may be sent to a model of text, and of sound
_AHEAD = 0.5  # seconds of sound that are made before they are heard, with live=true
_CHARACTERS = 2000  # a second, with live=true: nobody reads faster
_KINDS = {
    **{name: get_args(kind)[0] for name, kind in get_type_hints(GenerateKeys).items()},
    **dict.fromkeys(("checkpoint", "token"), str),
    **dict.fromkeys(("json", "live", "nats"), bool),
}
_OURS = {"include_prompt", "sample"}  # keys that are none for others
_KEPT = 3  # models in memory
_HERE = ("127.0.0.1", "localhost")  # who listens has no other name
_ADDED = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_Made = TypeVar("_Made")
Load = Callable[[str], Loaded]


class Server:
    """What is answered at each path."""

    def __init__(self, names: Sequence[str], load: Load, notice: Notice) -> None:
        """`names` are offered, and loaded when asked for; `notice` is told of faults."""
        self._names, self._notice = names, notice
        self.load = functools.lru_cache(_KEPT)(load)
        self._thread = ThreadPoolExecutor(1)
        self._places = asyncio.Semaphore(_SAMPLES)
        self._asked = 0

    def app(self) -> Starlette:
        """The application."""
        routes = [Route("/", self._page), Route("/generate", self._generate, methods=["POST"])]
        handlers = dict.fromkeys((HTTPException, SeqkitError, Exception), self._refuse)
        return Starlette(routes=routes, exception_handlers=handlers)

    async def _refuse(self, request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return JSONResponse({"error": error.detail}, error.status_code)
        if isinstance(error, SeqkitError):
            status = 400 if isinstance(error, ConfigError | DataError) else 500
            return JSONResponse({"error": str(error)}, status)
        if not isinstance(error, ClientDisconnect | LocalProtocolError | TimeoutError):
            self._notice(f"a fault in the server: {of_plugin(error)}")
        return JSONResponse({"error": "a fault in the server: its stderr has more"}, 500)

    async def _page(self, request: Request) -> Response:
        name, loaded = await self._loaded(_keys(request))
        fields = {"choices": self._names, "read": loaded.read}
        return HTMLResponse(filled(loaded.saved, name, fields, {}))

    async def _generate(self, request: Request) -> Response:
        keys: Any = {"seed": secrets.randbelow(SEEDS)} | _keys(request)
        live, as_json, nats = (keys.pop(name, False) for name in ("live", "json", "nats"))
        loaded, body = await self._sent(request, keys)
        kind = "text/plain" if loaded.codec.kind == "text" else "application/octet-stream"
        kind = "application/jsonl" if as_json else "audio/wav" if loaded.sounds else kind
        rate = live and (loaded.model.sample_rate or _CHARACTERS)
        pieces = self._in_turn(loaded.generated(body, keys, as_json, nats), rate)
        return _Streamed(pieces, media_type=kind, headers={"Seed": str(keys["seed"])})

    async def _loaded(self, keys: dict[str, Any]) -> tuple[str, Loaded]:
        """The model that keys ask for, by default the first one."""
        name = keys.pop("checkpoint", self._names[0])
        if name not in self._names:
            hint, there = nearest(name, [*self._names]), ", ".join(self._names)
            raise ConfigError(f"checkpoint={name[:80]}: not offered{hint} There are: {there}")
        return name, await self._turn(lambda: self.load(name))

    async def _sent(self, request: Request, keys: dict[str, Any]) -> tuple[Loaded, bytes]:
        """The model that is asked for, and what was sent to it; the other keys are left."""
        _, loaded = await self._loaded(keys)
        most, body = _BODY[loaded.sounds], bytearray()
        try:
            async with asyncio.timeout(_PATIENCE):
                async for block in request.stream():  # all, so that the answer is taken
                    body += block[: most + 1 - len(body)]
        except TimeoutError as error:
            raise HTTPException(408, f"not all was sent within {_PATIENCE} s") from error
        if len(body) > most:
            raise HTTPException(413, f"more than {most:,} bytes were sent: send the end of it")
        return loaded, bytes(body)

    async def _turn(self, work: Callable[[], _Made]) -> _Made:
        """What work gives when its turn has come; whoever is cancelled before has none."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _in_turn(self, pieces: Pieces, rate: int = 0) -> AsyncGenerator[bytes]:
        """Each piece when its turn has come, once there is a place; not faster than a rate."""
        clock = asyncio.get_running_loop().time
        self._asked += 1
        try:
            if self._asked > _SAMPLES + _WAITING:
                raise HTTPException(503, "too many are waiting: try again later")
            async with self._places:
                begun, frames = clock(), 0
                while (piece := await self._turn(lambda: next(pieces, None))) is not None:
                    yield piece[0]
                    frames += piece[1]
                    if rate:
                        await asyncio.sleep(begun + frames / rate - _AHEAD - clock())
        finally:
            self._asked -= 1
            self._thread.submit(pieces.close)


class _Streamed(StreamingResponse):
    """Begins with the first piece, so that what fails before has an answer; closes the pieces."""

    async def stream_response(self, send: Send) -> None:
        pieces: Any = self.body_iterator
        async with contextlib.aclosing(pieces):
            body = {"type": "http.response.body", "more_body": True}
            first = body | {"body": await anext(pieces, b"")}
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send(first)
            async for piece in pieces:
                await send(body | {"body": piece})
            await send({"type": "http.response.body"})


class Impatient(H11Protocol):
    """HTTP on a connection that is closed if it does not ask: others wait for its place."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Called by the loop."""
        super().connection_made(transport)
        self.loop.call_later(_SILENT, self._give_up)

    def _give_up(self) -> None:
        if getattr(self, "cycle", None) is None:  # no request has come, whatever its type says
            self.transport.close()


class Gate:
    """Lets requests through to an app, or answers 403; gives those up that take no answer.

    A name that somebody else lets point to this machine (DNS rebinding) is no Host of it; a page of
    another site has another Origin; and the token is in the URL, as `token`, or in a header.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_ADDED)
            async with asyncio.timeout(_PATIENCE):
                await send(message)

        refused = self._refusal(Headers(scope=scope), QueryParams(scope["query_string"]))
        app = JSONResponse({"error": refused}, 403) if refused else self._app
        await app(scope, receive, answer)

    def _refusal(self, headers: Headers, query: QueryParams) -> str | None:
        """Why a request is refused, if it is."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host.partition(":")[0] not in _HERE:
            return f"Host {host[:80]} is not this machine"
        if origin is not None and origin.partition("//")[2] != host:
            return f"Origin {origin[:80]} is another site"
        known = headers.get("authorization", "").removeprefix("Bearer ") or query.get("token", "")
        if not secrets.compare_digest(known.encode(), self._token.encode()):
            return "open the link with the token that the server has printed, or send the token"
        return None


def _keys(request: Request) -> dict[str, Any]:
    """The keys of a query. Raises ConfigError."""
    keys = {}
    for name, text in request.query_params.items():
        if said := dropped.instead(name) or dropped.instead(f"sample.{name}"):
            raise ConfigError(f"{name[:80]}: that is gone: {said}")
        if name not in _KINDS or name in _OURS:
            raise ConfigError(f"unknown key {name[:80]}{nearest(name, [*_KINDS.keys() - _OURS])}")
        try:
            flags = {"true": True, "false": False}
            keys[name] = flags[text] if _KINDS[name] is bool else _KINDS[name](text)
        except (KeyError, ValueError) as error:
            raise ConfigError(f"{name}={text[:80]}: expected {_KINDS[name].__name__}") from error
    keys.pop("token", None)
    return keys
