"""How does a program use lightsched? `Client`, over REST or over Kafka; `SyncClient` is the same without `await`.

Client = Commanding + Looking + Receiving + Operating, over a Transport: Rest or KafkaTransport
"""

import os
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

from lightsched.client.commanding import Commanding
from lightsched.client.errors import Invalid
from lightsched.client.kafka_place import Kafka
from lightsched.client.looking import Looking
from lightsched.client.operating import Operating
from lightsched.client.receiving import Receiving
from lightsched.client.transport import Transport

USUAL_SERVER = "http://127.0.0.1:8080"
App = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI app."""


class Client(Commanding, Looking, Receiving, Operating):
    """A connection to lightsched, for asyncio.

    Example:
        async with Client("http://127.0.0.1:8080") as client:
            await client.schedule(id="tea", in_="5m", payload={"text": "Your tea is ready"})

    `server`: an address of the REST interface, or `kafka://host:port,…?prefix=…` (`Kafka(…)` for more settings), where
    commands, deliveries and reports go directly to the topics, and all that needs an answer raises `NotOnKafka`.
    Without one: LIGHTSCHED_SERVER, else this machine. Or what `lightsched.asgi()` gives, in the same process. `token`:
    likewise LIGHTSCHED_TOKEN. `tenant`: of all calls that name no other.

    What fails on the way is tried again `retries` times, with growing pauses, and cannot happen twice.
    """

    def __init__(
        self,
        server: str | Kafka | App | None = None,
        *,
        token: str | None = None,
        tenant: str = "default",
        timeout: float = 30.0,
        retries: int = 5,
    ) -> None:
        server = server or os.environ.get("LIGHTSCHED_SERVER") or USUAL_SERVER
        token = os.environ.get("LIGHTSCHED_TOKEN", "") if token is None else token
        super().__init__(_transport_to(server, token, timeout, retries), tenant)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections; what was sent is sent.

        Example:
            client = Client("http://127.0.0.1:8080")
            await client.close()
        """
        await self._transport.close()


def _transport_to(server: str | Kafka | App, token: str, timeout_s: float, retries: int) -> Transport:
    """Only what is needed is imported: each takes a while."""
    if isinstance(server, str) and _parts(server).scheme == "kafka":
        server = Kafka.found(server)
    if isinstance(server, Kafka):
        from lightsched.client.kafka import KafkaTransport  # noqa: PLC0415

        return KafkaTransport(server, timeout_s)
    from lightsched.client.rest import Rest  # noqa: PLC0415

    if not isinstance(server, str):
        return Rest("http://127.0.0.1", token, timeout_s, retries, server)
    if _parts(server).scheme not in {"http", "https"} or not _parts(server).netloc:
        raise _no_address(server)
    return Rest(server, token, timeout_s, retries)


def _parts(server: str) -> SplitResult:
    try:
        return urlsplit(server)
    except ValueError:
        raise _no_address(server) from None


def _no_address(server: str) -> Invalid:
    return Invalid(f"{server!r} is no address of a server: write http://host:port, or kafka://host:port.")
