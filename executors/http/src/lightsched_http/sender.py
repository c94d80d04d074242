"""How is a request sent? Over a pool of connections that only the guard opens, without redirects and proxies.

httpcore and not httpx: a URL is taken apart once, by `address`, and goes out as those parts.
"""

import asyncio
import ssl
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import httpcore

from lightsched_http.guard import Allowed, Guard
from lightsched_http.request import Request
from lightsched_http.settings import HttpSettings

_IDLE_S = 30


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. The body is cut at the limit."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    whole: bool

    def header(self, name: bytes) -> str:
        """The first of this name, or nothing."""
        return next((value.decode("latin-1") for each, value in self.headers if each.lower() == name), "")


class Sender:
    """Sends requests to where they may go."""

    def __init__(self, settings: HttpSettings) -> None:
        self._connect_s = settings.connect_timeout / 1000
        self._most = settings.body
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl.create_default_context(cafile=settings.ca),
            max_connections=settings.connections,
            keepalive_expiry=_IDLE_S,
            network_backend=Guard(Allowed(settings.allow)),
        )

    async def __aenter__(self) -> Self:
        await self._pool.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.__aexit__(kind, error, trace)

    async def send(self, request: Request, timeout_s: float) -> Answer:
        """Send it, and read the answer up to the limit.

        Raises `TimeoutError`, `NotAllowed`, `NotResolved`, and what httpcore does when the network fails.
        """
        url = request.url
        place = httpcore.URL(scheme=url.scheme, host=url.host, port=url.port, target=url.target)
        headers = {"host": url.authority, **request.headers, "accept-encoding": "identity"}
        if request.body or request.method in {"POST", "PUT", "PATCH"}:
            headers["content-length"] = str(len(request.body))
        timeouts = {"connect": min(self._connect_s, timeout_s), "pool": timeout_s}
        async with (
            asyncio.timeout(timeout_s),
            self._pool.stream(
                request.method,
                place,
                headers=list(headers.items()),
                content=request.body,
                extensions={"timeout": timeouts},
            ) as response,
        ):
            body, whole = await self._read(response)
            return Answer(response.status, response.headers, body, whole)

    async def _read(self, response: httpcore.Response) -> tuple[bytes, bool]:
        body = bytearray()
        async for chunk in response.aiter_stream():
            body += chunk
            if len(body) > self._most:  # leaving the stream closes its connection: the rest is never read
                return bytes(body[: self._most]), False
        return bytes(body), True
