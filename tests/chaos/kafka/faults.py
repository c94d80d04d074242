"""What goes wrong, and when? Several hands at once, each with a script of its own, the same for the same seed."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence

from tests.chaos.kafka.broker_faults import BrokerFaults
from tests.chaos.kafka.node_faults import OF_ITS_NETWORK, OF_THE_NODE, NodeFault
from tests.chaos.kafka.nodes import FaultyNode
from tests.chaos.kafka.recovery import Recovery

HANDS = 2
"""That hurt nodes, and one node at least is left alone."""
BREATH_S = 6.0


class Faults:
    """Hurts nodes and brokers, and heals what it has hurt."""

    def __init__(self, nodes: list[FaultyNode], brokers: BrokerFaults | None, recovery: Recovery, seed: int) -> None:
        self.done: Counter[str] = Counter()
        self._nodes = nodes
        self._hurt: set[str] = set()
        self._brokers = brokers
        self._recovery = recovery
        self._seed = seed
        self._first: list[NodeFault] = []
        self._until = 0.0

    async def run(self, seconds: float, first: Sequence[str] = ()) -> None:
        """For so long, and at least the `first` ones; everything is whole again afterwards."""
        self._until = time.monotonic() + seconds
        networks = all(node.link is not None for node in self._nodes)
        kinds = (*OF_THE_NODE, *(OF_ITS_NETWORK if networks else ()))
        self._first = [kind for name in reversed(first) for kind in kinds if kind.name == name]
        hands = min(HANDS, len(self._nodes) - 1)
        hurting = [self._hurt_nodes(random.Random(f"{self._seed}/{hand}"), kinds) for hand in range(hands)]
        if self._brokers is not None:
            hurting.append(self._hurt_brokers(self._brokers))
        await asyncio.gather(*hurting)

    async def _hurt_nodes(self, chance: random.Random, kinds: tuple[NodeFault, ...]) -> None:
        weights = [kind.weight for kind in kinds]
        while self._first or time.monotonic() < self._until:
            await asyncio.sleep(chance.uniform(0.1, 1.0))
            await self._let_breathe(chance)
            fault = self._first.pop() if self._first else chance.choices(kinds, weights)[0]
            node, hit = await self._choose(chance)
            self._hurt.add(node.name)
            began_ms = _now_ms()
            if await fault.hurt(node, chance) is not False:
                self._recovery.expect(fault.name, hit, began_ms if fault.takeover else _now_ms())
                self.done[fault.name] += 1
            self._hurt.remove(node.name)

    async def _choose(self, chance: random.Random) -> tuple[FaultyNode, list[int]]:
        """A node that nobody hurts at the moment, and its partitions: one that has some, if there is one."""
        shown = await asyncio.gather(*(asyncio.to_thread(node.partitions) for node in self._nodes))
        free = [
            (node, [each["partition"] for each in partitions])
            for node, partitions in zip(self._nodes, shown, strict=True)
            if node.name not in self._hurt
        ]
        return chance.choice([(node, hit) for node, hit in free if hit] or free)

    async def _hurt_brokers(self, brokers: BrokerFaults) -> None:
        while time.monotonic() < self._until:
            await asyncio.sleep(brokers.random.uniform(0.5, 4.0))
            await self._let_breathe(brokers.random)
            name = await brokers.hurt()
            self._recovery.expect(name, range(self._recovery.partitions), _now_ms())
            self.done[name] += 1

    async def _let_breathe(self, chance: random.Random) -> None:
        """Mostly, something is well before it is hurt; else one fault comes upon another."""
        if chance.random() < 0.6:
            await self._recovery.breathe(BREATH_S)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
