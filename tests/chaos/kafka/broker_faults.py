"""What goes wrong with a broker? It dies, it stands still, or no node reaches it while the other brokers do."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.broker.local import LocalCluster
from tests.broker.process import HOST
from tests.chaos.kafka.proxy import Proxy


@dataclass
class BrokerFaults:
    """Hurts brokers of a cluster, one at a time, and heals them."""

    cluster: LocalCluster
    proxies: Sequence[Proxy]
    random: Random

    async def hurt(self) -> str:
        """Some broker, in some way; the name of the fault."""
        number = self.random.choice(list(self.cluster.brokers))
        name, fault = self.random.choice((("kill -9", self._kill), ("paused", self._pause), ("cut off", self._cut)))
        await fault(number)
        return f"broker {name}"

    async def _kill(self, number: int) -> None:
        await asyncio.to_thread(self.cluster.kill, number)
        await asyncio.sleep(self.random.uniform(0.5, 4.0))
        await asyncio.to_thread(self.cluster.start, number)

    async def _pause(self, number: int) -> None:
        await asyncio.to_thread(self.cluster.pause, number)
        await asyncio.sleep(self.random.uniform(0.5, 5.0))
        self.cluster.resume(number)

    async def _cut(self, number: int) -> None:
        address = HOST, self.cluster.brokers[number].port
        seconds = self.random.uniform(0.2, 6.0)
        await asyncio.gather(*(proxy.cut(seconds, address) for proxy in self.proxies))
