"""Who may come in? Everyone who can reach the port, but no web page of another origin.

A browser sends requests wherever a page tells it to, also to servers on the same machine. Two checks keep them out:

- **Host**: when bound to a loopback address (or when `http.hosts` is set), the name in the request must be one of ours.
  A foreign name that resolves to this machine (DNS rebinding) is refused.
- **Origin**: a request that may change something, sent by a page, must come from a page of this very server.

Programs send no Origin and are not affected. Here too: what every answer says to browsers, ids with a slash in them,
HEAD, and the last word when something unexpected happens.
"""

import asyncio
import ipaddress
import logging
from collections.abc import Callable, Collection, Iterable
from urllib.parse import unquote

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lightsched.api.elsewhere import covered_header, note_where_from
from lightsched.api.problem import FORBIDDEN, UNAVAILABLE, Refusal
from lightsched.api.turns import note_client

log = logging.getLogger(__name__)

SLASH = "\x1f"
"""Stands for a slash inside a name while the path is taken apart; no name may hold this character itself."""

_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "LIST"})
_LIKE_GET = frozenset({"HEAD", "LIST"})
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_STOPS = (
    "This node stops, and cannot wait any longer for what was asked for to be done. "
    "It may still be done: ask another node, or look again in a moment."
)
_UVICORN_STOPS = "graceful shutdown"
"""In what it gives as the reason for cancelling a request."""
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


def hosts_for(bound_to: str, configured: Iterable[str]) -> frozenset[str] | None:
    """The names a request may ask for; None: any."""
    names = [name.lower() for name in configured]
    if not names and not _is_loopback(bound_to):
        return None
    own = f"[{bound_to}]" if ":" in bound_to else bound_to.lower()
    return frozenset({own, *_LOCAL_NAMES, *names})


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Gate:
    """Stands before the application."""

    def __init__(
        self,
        app: ASGIApp,
        hosts: Collection[str] | None,
        workers: Collection[int] = (),
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """`workers`: the partitions that are here, at any time."""
        self.app = app
        self._stopping = stopping
        self._workers = workers
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message["headers"], *_HEADERS, *covered_header(self._workers)]
            await send(message)

        if complaint := self._complaint(scope):
            await Refusal(FORBIDDEN, complaint).response()(scope, receive, send_with_headers)
            return
        note_where_from(scope, frozenset(self._workers))
        note_client(receive)
        try:
            await self.app(_routable(scope), receive, send_with_headers)
        except asyncio.CancelledError as error:
            # The server stops, and has waited for long enough; or an application around this has reasons of its own.
            if started or not (self._stopping() or _UVICORN_STOPS in str(error)):
                raise
            await Refusal(UNAVAILABLE, _STOPS).response()(scope, receive, send_with_headers)
        except ClientDisconnect:
            log.debug("a client left before its request was complete")
        except Exception:
            # The application has answered and logged it (`app.unexpected`); beyond that the server need not know.
            if not started:
                raise

    def _complaint(self, scope: Scope) -> str:
        host = origin = site = ""
        for name, value in scope["headers"]:
            if name == b"host":
                host = value.decode("latin-1").lower()
                if self._hosts is not None and _name_of(host) not in self._hosts:
                    return (
                        f"This server is not called {_name_of(host)[:100]!r}: use the address it was started with, "
                        "or add the name to `http.hosts`."
                    )
            elif name == b"origin":
                origin = value.decode("latin-1").lower()
            elif name == b"sec-fetch-site":
                site = value.decode("latin-1").lower()
        if scope["method"] in _SAFE_METHODS:
            return ""
        if (origin and origin.partition("://")[2] != host) or site in {"cross-site", "same-site"}:
            return (
                "A page of another origin may not change anything here: send this from a program, or from our own page."
            )
        return ""


def _name_of(host: str) -> str:
    """Without the port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _routable(scope: Scope) -> Scope:
    """HEAD is a GET whose body the server leaves out, LIST is a GET; a slash inside a name does not part it."""
    raw: bytes = scope.get("raw_path") or b""
    if scope["method"] in _LIKE_GET:
        scope = {**scope, "method": "GET"}
    if b"%2f" in raw.lower():
        kept = raw.replace(b"%2f", b"%1F").replace(b"%2F", b"%1F")
        scope = {**scope, "path": unquote(kept.decode("latin-1"))}
    return scope
