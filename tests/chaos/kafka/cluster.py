"""Several nodes, each behind a proxy of its own, and in a network of its own where that can be had."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.chaos.kafka import networks
from tests.chaos.kafka.nodes import FaultyNode
from tests.chaos.kafka.patience import MAX_POLL_S, REQUEST_S, SESSION_S, TRANSACTION_S
from tests.chaos.kafka.proxy import Proxy

RESTS_WITHIN_S = 180
DETOUR_S = 2.0


class Cluster:
    """The nodes under test."""

    def __init__(self, bootstrap: str, folder: Path, prefix: str, partitions: int, replication: int) -> None:
        self.nodes: list[FaultyNode] = []
        self.no_networks = networks.why_not()
        self._networks: networks.Networks | None = None
        self._tending: asyncio.Task[None] | None = None
        self._bootstrap = bootstrap
        self._folder = folder
        self._partitions = partitions
        self.settings = {
            "LIGHTSCHED_LOG": "kafka",
            "LIGHTSCHED_KAFKA__BOOTSTRAP": bootstrap,
            "LIGHTSCHED_KAFKA__PREFIX": prefix,
            "LIGHTSCHED_KAFKA__GROUP": f"{prefix}group",
            "LIGHTSCHED_KAFKA__PARTITIONS": str(partitions),
            "LIGHTSCHED_KAFKA__REPLICATION": str(replication),
            "LIGHTSCHED_KAFKA__SESSION_TIMEOUT": f"{SESSION_S * 1000:.0f}ms",
            "LIGHTSCHED_KAFKA__TRANSACTION_TIMEOUT": f"{TRANSACTION_S * 1000:.0f}ms",
            "LIGHTSCHED_KAFKA__REQUEST_TIMEOUT": f"{REQUEST_S * 1000:.0f}ms",
            "LIGHTSCHED_KAFKA__MAX_POLL_INTERVAL": f"{MAX_POLL_S * 1000:.0f}ms",
        }

    async def start(self, count: int) -> None:
        """Start so many nodes, and wait until they run all partitions."""
        if not self.no_networks:
            self._networks = networks.Networks(count)
        for number in range(count):
            self.nodes.append(await self._node(number))
            self.nodes[-1].start()
        self._tending = asyncio.create_task(self._tend())
        await self.until(self._owned, 60, "the nodes do not start")

    async def _tend(self) -> None:
        while True:
            await asyncio.sleep(0.5)
            for node in self.nodes:
                node.tend()

    async def _node(self, number: int) -> FaultyNode:
        net = self._networks
        proxy = Proxy(net.host if net else "127.0.0.1")
        through = {**self.settings, "LIGHTSCHED_KAFKA__BOOTSTRAP": await proxy.start(self._bootstrap)}
        name = f"node-{number}"
        if net is None:
            return FaultyNode(name, self._folder, through, proxy)
        link = partial(net.link, number)
        return FaultyNode(
            name, self._folder, through, proxy, host=net.address(number), inside=net.inside(number), link=link
        )

    async def read_all(self) -> None:
        """Wait until all inputs are read, also those that take a detour to another partition."""
        for _ in range(2):
            await self.until(self._has_read, RESTS_WITHIN_S, "it does not read all inputs")
            await asyncio.sleep(DETOUR_S)

    async def drain(self) -> float:
        """Wait until nothing is left to do; how long it took."""
        began = time.monotonic()
        await self.until(self._drained, RESTS_WITHIN_S, "it does not come to rest")
        return time.monotonic() - began

    def hit(self) -> Counter[str]:
        """What the faults have led to."""
        hit = sum((node.hit() for node in self.nodes), Counter[str]())
        hit["connections cut"] = sum(node.proxy.cuts for node in self.nodes)
        hit["nodes that ended by themselves"] = sum(node.ended for node in self.nodes)
        hit["answers to commits lost"] = sum(node.proxy.swallowed for node in self.nodes)
        return hit

    async def stop(self) -> None:
        """In order."""
        for node in self.nodes:
            await asyncio.to_thread(node.stop)

    async def close(self) -> None:
        """At once."""
        if self._tending is not None:
            self._tending.cancel()
        for node in self.nodes:
            node.kill()
            await node.proxy.close()
        if self._networks is not None:
            self._networks.close()

    async def until(self, holds: Callable[[], bool], within_s: float, otherwise: str) -> None:
        until = time.monotonic() + within_s
        while not await asyncio.to_thread(holds):
            if time.monotonic() > until:
                shown = {node.name: node.partitions() for node in self.nodes}
                raise AssertionError(f"{otherwise} within {within_s} s: {shown}")
            await asyncio.sleep(0.3)

    def _shown(self) -> list[dict]:
        return [partition for node in self.nodes for partition in node.partitions()]

    def _owned(self) -> bool:
        return len(self._shown()) == self._partitions

    def _has_read(self) -> bool:
        shown = self._shown()
        return len(shown) == self._partitions and not any(each["lag"] for each in shown)

    def _drained(self) -> bool:
        return self._has_read() and not any(each["pending"] for each in self._shown())
