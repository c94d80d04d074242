"""What can happen between a node and its brokers? Connections are cut, traffic stalls, the answer to a commit is lost.

A proxy stands before one node. The node sees the brokers nowhere else: in the answers that name brokers, the proxy puts
its own addresses. Whatever it does is over when the call returns.
"""

import asyncio
import contextlib
import struct
from collections.abc import Iterable
from typing import NamedTuple

from aiokafka.protocol.coordination import FindCoordinatorResponse_v0, FindCoordinatorResponse_v1
from aiokafka.protocol.metadata import (
    MetadataResponse_v0,
    MetadataResponse_v1,
    MetadataResponse_v2,
    MetadataResponse_v3,
    MetadataResponse_v4,
    MetadataResponse_v5,
)

Address = tuple[str, int]

METADATA, FIND_COORDINATOR, END_TXN = 3, 10, 26
CHANGED = {
    (answer.API_KEY, answer.API_VERSION): answer
    for answer in (
        *(FindCoordinatorResponse_v0, FindCoordinatorResponse_v1),
        *(MetadataResponse_v0, MetadataResponse_v1, MetadataResponse_v2),
        *(MetadataResponse_v3, MetadataResponse_v4, MetadataResponse_v5),
    )
}
"""The answers that name brokers, by the request's kind and version."""


class Asked(NamedTuple):
    """A request whose answer is looked at."""

    kind: int
    version: int
    commits: bool


class Proxy:
    """All connections of one node to the brokers."""

    def __init__(self, host: str) -> None:
        """`host`: where the node reaches it."""
        self.host = host
        self.cuts = 0  # connections
        self.swallowed = 0  # answers to commits
        self._servers: dict[Address, asyncio.Server] = {}
        self._links: set[_Link] = set()
        self._refused: list[Address | None] = []
        self._flows = asyncio.Event()
        self._flows.set()
        self._swallow: asyncio.Future[None] | None = None

    async def start(self, bootstrap: str) -> str:
        """Where the node finds the brokers."""
        addresses = [address.rpartition(":") for address in bootstrap.split(",")]
        ports = [await self.port_for((host, int(port))) for host, _, port in addresses]
        return ",".join(f"{self.host}:{port}" for port in ports)

    async def port_for(self, broker: Address) -> int:
        """The port behind which a broker is."""
        if broker not in self._servers:
            self._servers[broker] = await asyncio.start_server(
                lambda reader, writer: self._connected(broker, reader, writer), self.host
            )
        return int(self._servers[broker].sockets[0].getsockname()[1])

    async def cut(self, seconds: float, broker: Address | None = None) -> None:
        """Cut the connections to a broker, or all, and let nobody connect for so long."""
        self._refused.append(broker)
        try:
            self.abort(link for link in self._links if broker in {None, link.broker})
            await asyncio.sleep(seconds)
        finally:
            self._refused.remove(broker)

    async def stall(self, seconds: float) -> None:
        """Nothing arrives for so long, in neither direction; then all of it."""
        self._flows.clear()
        try:
            await asyncio.sleep(seconds)
        finally:
            self._flows.set()

    async def lose_commit(self, within_s: float, cut_s: float) -> bool:
        """Swallow the answer to the next commit, and cut all connections for so long; was there one?"""
        self._swallow = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(within_s):
                await self._swallow
        except TimeoutError:
            return False
        finally:
            self._swallow = None
        await self.cut(cut_s)
        return True

    async def close(self) -> None:
        for server in self._servers.values():
            server.close()
        self.abort(self._links)
        while self._links:  # noqa: ASYNC110 -- they are about to end
            await asyncio.sleep(0.01)

    async def _connected(self, broker: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if {None, broker}.isdisjoint(self._refused):
            with contextlib.suppress(OSError):
                upstream = await asyncio.open_connection(*broker)
                await self._carry(_Link(self, broker, (reader, writer), upstream))
        writer.transport.abort()

    async def _carry(self, link: "_Link") -> None:
        self._links.add(link)
        ways = [asyncio.create_task(link.requests()), asyncio.create_task(link.answers())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._links.discard(link)
            link.abort()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    def abort(self, links: Iterable["_Link"]) -> None:
        for link in list(links):
            link.abort()
            self.cuts += 1

    async def passes(self) -> None:
        """Until traffic flows."""
        await self._flows.wait()

    def swallows(self, asked: Asked) -> bool:
        """Is this the answer that is to be lost?"""
        if self._swallow is None or self._swallow.done() or not asked.commits:
            return False
        self._swallow.set_result(None)
        self.swallowed += 1
        return True

    async def changed(self, asked: Asked, answer: bytes) -> bytes:
        """With the proxy's addresses instead of the brokers'."""
        if asked.kind == END_TXN:
            return answer
        found = CHANGED[asked.kind, asked.version].decode(answer[4:])
        if asked.kind == METADATA:
            found.brokers = [
                (n, self.host, await self.port_for((host, port)), *rack) for n, host, port, *rack in found.brokers
            ]
        elif found.error_code == 0:
            found.host, found.port = self.host, await self.port_for((found.host, found.port))
        return answer[:4] + found.encode()


class _Link:
    """One connection: requests one way, answers the other."""

    def __init__(
        self,
        proxy: Proxy,
        broker: Address,
        node: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self.broker = broker
        self._proxy = proxy
        self._from_node, self._to_node = node
        self._from_broker, self._to_broker = upstream
        self._asked: dict[int, Asked] = {}

    async def requests(self) -> None:
        while True:
            request = await _read(self._from_node)
            kind, version, correlation = struct.unpack_from(">hhi", request)
            if kind in {METADATA, FIND_COORDINATOR, END_TXN}:
                self._asked[correlation] = Asked(kind, version, commits=kind == END_TXN and request[-1] == 1)
            await self._proxy.passes()
            await _write(self._to_broker, request)

    async def answers(self) -> None:
        while True:
            answer = await _read(self._from_broker)
            asked = self._asked.pop(int.from_bytes(answer[:4], "big"), None)
            await self._proxy.passes()
            if asked is not None:
                if self._proxy.swallows(asked):
                    return
                answer = await self._proxy.changed(asked, answer)
            await _write(self._to_node, answer)

    def abort(self) -> None:
        self._to_node.transport.abort()
        self._to_broker.transport.abort()


async def _read(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


async def _write(writer: asyncio.StreamWriter, message: bytes) -> None:
    writer.write(struct.pack(">i", len(message)) + message)
    await writer.drain()
