"""Who may ask: only those that know the token, and no page of another site."""

import asyncio
import ipaddress
import platform
import secrets
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATIENCE = 30
"""Seconds for which a client may neither send nor take anything."""
_ADDED = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Gate:
    """Lets requests through to an app, or answers 403; gives those up that take no answer.

    A name that somebody else lets point to this machine (DNS rebinding) is no Host of it; a page of
    another site has another Origin; and the token is in the URL, as `token`, or in a header.
    """

    def __init__(self, app: ASGIApp, host: str, token: str) -> None:
        """`host` is the name or address at which it listens."""
        self._app, self._token = app, token
        self._names = {"localhost", host.lower(), platform.node().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_ADDED)
            async with asyncio.timeout(PATIENCE):
                await send(message)

        refused = self._refusal(Headers(scope=scope), QueryParams(scope["query_string"]))
        app = JSONResponse({"error": refused}, 403) if refused else self._app
        await app(scope, receive, answer)

    def _refusal(self, headers: Headers, query: QueryParams) -> str | None:
        """Why a request is refused, if it is."""
        host, origin = headers.get("host", ""), headers.get("origin")
        try:
            name = urlsplit(f"//{host}").hostname or ""
            if name not in self._names:
                ipaddress.ip_address(name)  # nobody else has its address
        except ValueError:
            return f"Host {host[:80]} is not this machine"
        if origin is not None and origin.partition("//")[2] != host:
            return f"Origin {origin[:80]} is another site"
        known = headers.get("authorization", "").removeprefix("Bearer ") or query.get("token", "")
        if not secrets.compare_digest(known.encode(), self._token.encode()):
            return "open the link with the token that the server has printed, or send the token"
        return None
