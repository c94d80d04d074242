"""What does every measurement on Kafka stand on? A broker that nobody has used before, a loader, and a counter.

What is loaded is stored before the first of it is due, every event is delivered once, and none early: otherwise there
is no figure, but an error.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Generic, TypeVar

from aiokafka.admin import AIOKafkaAdminClient

from benchmarks.kafka.contestants import PARTITIONS, Contestant
from benchmarks.kafka.counter import Counter, Delivery
from benchmarks.kafka.loader import Loader
from benchmarks.load import events
from lightsched.event.topics import Topics
from lightsched.log.kafka.topics import DAY_MS, create, wanted
from tests.broker.local import LocalCluster

YEAR_MS = 365 * DAY_MS
LOOK_EVERY_S = 0.05
LEAD_MS = 5_000
SLOWEST = 500  # events/s: whoever is slower has stopped

Kind = TypeVar("Kind", bound=Contestant)


class Rig(Generic[Kind]):
    """One contestant, on its broker."""

    def __init__(self, contestant: Kind, loader: Loader, counter: Counter) -> None:
        self.contestant = contestant
        self.loader = loader
        self.counter = counter
        self._lead_ms_each = 0.0  # from the beginning of a load to when it is stored, for each event

    async def load(self, name: str, count: int, first_ms: int, spread_ms: int) -> float:
        """Events appear at once; how many seconds until they are stored."""
        await self.loader.hide(_load(name, count, first_ms, spread_ms))
        began = time.perf_counter()
        await self.loader.reveal()
        await self._stored(count)
        return time.perf_counter() - began

    async def load_for_later(self, count: int) -> float:
        """As above, due in a year and later. Others are known to take as long, from here on."""
        began_ms = now_ms()
        took_s = await self.load("later", count, began_ms + YEAR_MS, YEAR_MS)
        self._lead_ms_each = (now_ms() - began_ms) / count
        return took_s

    async def schedule(self, name: str, count: int, spread_ms: int) -> int:
        """Have events stored before the first of them is due; when that is."""
        self.counter.restart()
        first_ms = now_ms() + int(self._lead_ms_each * count * 2) + LEAD_MS
        await self.load(name, count, first_ms, spread_ms)
        if now_ms() >= first_ms:
            raise RuntimeError("ingest took twice as long as before: the machine is too busy for figures")
        return first_ms

    async def reach(self, count: int, until_ms: float) -> float:
        """Wait for so many deliveries, the last of which is due then; when it could be read."""
        return await self.counter.reach(count, max(until_ms - now_ms(), 0) / 1000 + _patience_s(count))

    def checked(self, count: int) -> list[Delivery]:
        """The deliveries: each once, none early."""
        found = list(self.counter.deliveries())
        different = len({delivery.id for delivery in found})
        if not len(found) == different == count:
            raise RuntimeError(f"{len(found)} deliveries of {different} events, {count} were loaded")
        if early := sum(delivery.late_ms < 0 for delivery in found):
            raise RuntimeError(f"{early} deliveries were early")
        return found

    async def _stored(self, count: int) -> None:
        """Wait until the contestant has stored all that was loaded."""
        deadline = time.monotonic() + _patience_s(count)
        while not await self.contestant.has_stored(self.loader):
            for program in self.contestant.programs:
                program.check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"{count} events are not stored after {_patience_s(count):.0f} s")
            await asyncio.sleep(LOOK_EVERY_S)


@asynccontextmanager
async def rig(name: str, make: Callable[[str, str, Path], Kind], folder: Path) -> AsyncIterator[Rig[Kind]]:
    """A contestant that runs, and all around it."""
    cluster = LocalCluster(folder / "kafka", for_load=True)
    prefix = f"{name}."
    try:
        topics = await make_topics(cluster.bootstrap, prefix)
        contestant = make(cluster.bootstrap, prefix, folder / name)
        loader = Loader(cluster.bootstrap, topics.events, PARTITIONS)
        counter = Counter(cluster.bootstrap, topics.deliveries, PARTITIONS)
        try:
            await loader.start()
            await counter.start()
            await contestant.start()
            yield Rig(contestant, loader, counter)
        finally:
            await contestant.stop()
            await counter.stop()
            await loader.stop()
    finally:
        cluster.close()


def now_ms() -> int:
    """The time."""
    return time.time_ns() // 1_000_000


async def make_topics(bootstrap: str, prefix: str) -> Topics:
    """Made as lightsched makes them, for all."""
    topics = Topics(prefix)
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await create(admin, wanted(topics, PARTITIONS, 7 * DAY_MS), 1, {})
    finally:
        await admin.close()
    return topics


def _load(name: str, count: int, first_due_ms: int, spread_ms: int) -> Iterator[tuple[bytes, bytes]]:
    """Ids and events."""
    lines = events(count, first_due_ms, spread_ms, name=name)
    return ((b"%b-%09d" % (name.encode(), index), line) for index, line in enumerate(lines))


def _patience_s(count: int) -> float:
    return 60 + count / SLOWEST
