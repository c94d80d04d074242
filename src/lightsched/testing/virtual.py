"""What runs in a test? One partition of the real thing, on a clock that only moves when told to.

Engine, store, embedded log and worker are those of a node; two things are not. Time stands still, and jumps from one
instant at which there is something to do to the next. And nothing is synced to the disk: when a test is over, or its
machine crashes, nobody asks for the data.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from lightsched.engine.engine import Engine
from lightsched.engine.rules import Rules
from lightsched.engine.step import Answer
from lightsched.event.limits import Limits
from lightsched.event.record import Record
from lightsched.event.tenant import Tenant
from lightsched.event.topics import DEFAULT as TOPICS
from lightsched.log.embedded.families import FAMILIES
from lightsched.log.embedded.log import EmbeddedLog
from lightsched.log.embedded.partition import EmbeddedPartition
from lightsched.node.answers import Answers
from lightsched.node.guard import ClockGuard
from lightsched.node.metrics import Metrics
from lightsched.node.worker import Worker
from lightsched.store.rocks import Rocks
from lightsched.store.store import Store
from lightsched.testing.seen import DeadLetter, Delivery, seen_dead_letter, seen_delivery

_FETCHED_AT_ONCE = 10_000
_FOR_EVER_MS = 10**14  # no test's topics are so long that something has to be dropped
_NOT_COLLECTED = TOPICS.own - {TOPICS.dead_letter}


class Virtual:
    """A partition, its worker, and what came out of it so far."""

    def __init__(self, start_ms: int, keep_ms: int, tenants: Mapping[str, Tenant]) -> None:
        self.now_ms = start_ms
        self.deliveries: list[Delivery] = []
        self.dead_letters: list[DeadLetter] = []
        self.arrived: deque[Delivery] = deque()  # for the executors of the test; once each, whatever its topics
        self._folder = TemporaryDirectory(prefix="lightsched-testing-")
        rocks = _Unsynced(Path(self._folder.name), FAMILIES)
        self._log = EmbeddedLog(rocks, partitions=1, topics=TOPICS, clock_ms=self.wall_ms, retention_ms=_FOR_EVER_MS)
        self.store = Store(rocks, 0)
        self._answers = Answers()
        self._worker = Worker(
            EmbeddedPartition(self._log, 0, self.store),
            Engine(Rules(limits=Limits(keep_ms=keep_ms), tenants=tenants, refuse=self._log.refuse)),
            self,
            self._answers,
            Metrics(),
            ClockGuard(start_ms, start_ms),
        )
        self._positions: dict[str, int] = {}  # topic → the next record to fetch
        self._one_at_a_time = asyncio.Lock()

    def wall_ms(self) -> int:
        """The present. Implements `lightsched.node.clock.Clock`."""
        return self.now_ms

    def monotonic_ms(self) -> int:
        """The present: this clock never jumps."""
        return self.now_ms

    async def submit(self, topic: str, record: Record) -> Answer:
        """Append a command or a report, and do all there is to do at this instant."""
        async with self._one_at_a_time:
            offset = await self._log.submit(topic, 0, [record])
            answered = self._answers.expect(topic, 0, offset, 1)
            await self._settle()
        return answered.result()[0]

    async def advance(self, until_ms: int) -> None:
        """Go on to the next instant at which something is delivered, and no further than `until_ms`."""
        async with self._one_at_a_time:
            count = len(self.deliveries)
            while len(self.deliveries) == count:
                next_ms = self.store.next_due_ms()
                self.now_ms = max(self.now_ms, until_ms if next_ms is None else min(next_ms, until_ms))
                if next_ms is None or next_ms > until_ms:
                    return
                await self._settle()

    def close(self) -> None:
        """Let go of everything."""
        self._log.abandon()
        self._folder.cleanup()

    async def _settle(self) -> None:
        """Let the worker work until nothing is left to do at this instant."""
        busy = True
        while busy:
            wait_s = await self._worker.turn(0.0)
            await self._worker.settle()
            await self._collect()
            busy = wait_s <= 0 or self._worker.partition.lag > 0

    async def _collect(self) -> None:
        """Take what came out: the order holds in each topic."""
        arrived: dict[str, Delivery] = {}
        for topic in self._log.known_topics:
            if topic in _NOT_COLLECTED:
                continue
            for appended in await self._log.fetch(topic, {0: self._positions.get(topic, 0)}, _FETCHED_AT_ONCE, 0.0):
                self._positions[topic] = appended.offset + 1
                if topic == TOPICS.dead_letter:
                    self.dead_letters.append(seen_dead_letter(appended))
                else:
                    delivery = seen_delivery(appended)
                    self.deliveries.append(delivery)
                    arrived.setdefault(delivery.delivery, delivery)
        self.arrived.extend(arrived.values())


class _Unsynced(Rocks):
    def sync(self) -> None:
        """Not here."""
