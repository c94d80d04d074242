"""What is a running lightsched? A node: it opens the log, takes its partitions and runs a worker for each.

    node = await Node.open(settings)
    await node.run()        # until stop() is called, or the log is lost

Commands go in through `commands` and come back with their outcomes; reads go to the stores of the partitions.
"""

import asyncio
import logging
from functools import partial
from time import monotonic, perf_counter
from typing import TypeVar

from msgspec import DecodeError
from msgspec.json import Encoder

from lightsched import __version__
from lightsched.engine.engine import Engine
from lightsched.errors import LightschedError
from lightsched.event.tenant import Tenant
from lightsched.event.tolerant import decode_known
from lightsched.log.peer import Peer
from lightsched.log.port import Log, Partition
from lightsched.node.answers import Answers
from lightsched.node.clock import Clock, SystemClock
from lightsched.node.guard import ClockGuard
from lightsched.node.load import Burden
from lightsched.node.metrics import Metrics
from lightsched.node.opening import open_embedded, open_kafka
from lightsched.node.peers import Peers
from lightsched.node.settings import Settings
from lightsched.node.submitting import PartitionLost, Submitting
from lightsched.node.worker import Worker
from lightsched.store.store import Store

log = logging.getLogger(__name__)

T = TypeVar("T")

TENANT_KEY = "tenant/"
"""How the keys begin under which nodes share the rules of tenants."""
encode_tenant = Encoder().encode

_RETAKE_FIRST_S = 0.5
_RETAKE_MOST_S = 5.0
_WATCH_EVERY_S = 1.0
_STALLED_S = 60.0


class Stalled(LightschedError):
    """Partition {partition} has not moved for {seconds} s, although it always should: it is taken again."""


class Node:
    """One process's share of the work."""

    def __init__(self, settings: Settings, log_: Log, clock: Clock, guard: ClockGuard, metrics: Metrics) -> None:
        self.settings = settings
        self.log = log_
        self.clock = clock
        self.guard = guard  # the only one: whoever stamps a record and whoever fires by it must mean the same now
        self.answers = Answers()
        self.peers = Peers()
        self.started_ms = clock.wall_ms()
        self.metrics = metrics
        self.workers: dict[int, Worker] = {}
        self.burden = Burden(self.workers, lambda: metrics.fired)
        self.roles = ["scheduler"]  # and what else its process does: whoever starts that adds it
        self.commands = Submitting(log_, self.workers, self.answers, self.peers)
        self.tenants: dict[str, Tenant] = {}  # those that have rules of their own; the same on all nodes
        log_.watch(self._hear_of_tenant)
        self._announced = False
        self._stop = asyncio.Event()
        self._ready = asyncio.Event()
        self._answers_requests = asyncio.Event()
        self._look_again = asyncio.Event()

    @classmethod
    async def open(cls, settings: Settings, clock: Clock | None = None) -> "Node":
        """Open the log; nothing fires yet."""
        clock = clock or SystemClock()
        guard = ClockGuard(clock.wall_ms(), clock.monotonic_ms(), compared=settings.log == "kafka")

        def stamp_ms() -> int:
            return guard.look(clock.wall_ms(), clock.monotonic_ms()).now_ms

        metrics = Metrics()
        if settings.log == "kafka":
            log_ = await open_kafka(settings, stamp_ms, clock, guard, metrics)
        else:
            log_ = await open_embedded(settings, stamp_ms)
        return cls(settings, log_, clock, guard, metrics)

    @property
    def now_ms(self) -> int:
        """The present, as far as the clock is believed."""
        return self.guard.look(self.clock.wall_ms(), self.clock.monotonic_ms()).now_ms

    @property
    def ready(self) -> bool:
        """All partitions are taken and running, for all that is known."""
        return self._ready.is_set() and self.log.joined and not self._stop.is_set()

    @property
    def reachable(self) -> bool:
        """It is known who owns what, here or elsewhere, and what holds for tenants: requests can be answered."""
        return self._announced and self.log.joined and not self._stop.is_set()

    async def wait_ready(self) -> None:
        """Wait until all partitions are running."""
        await self._ready.wait()

    async def wait_reachable(self) -> None:
        """Wait until requests can be answered for the first time."""
        await self._answers_requests.wait()

    async def run(self) -> None:
        """Run the partitions that are this node's until stopped, then close the log."""
        owning: dict[int, asyncio.Task[None]] = {}
        try:
            self._announced = await self._announce()
            async with asyncio.TaskGroup() as group:
                while not self._stop.is_set():
                    owned = self.log.owned
                    for number in owned - owning.keys():
                        owning[number] = group.create_task(self._keep(number), name=f"partition {number}")
                        owning[number].add_done_callback(partial(self._left, owning, number))
                    for number in self.workers.keys() - owned:
                        self.workers[number].stop()
                    self._look_whether_ready()
                    await self._next_change(group)
        finally:
            self._stop.set()
            self.commands.stop()
            await self.peers.close()
            await self.log.close()

    async def _announce(self) -> bool:
        """Tell the other nodes, and hear what they all go by. False: this one is to stop meanwhile."""
        announcing = asyncio.create_task(self.log.announce(self.own), name="announce")
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({announcing, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if announcing.done():
                await announcing
            return announcing.done()
        finally:
            for task in (announcing, stopping):
                task.cancel()
            await asyncio.wait({announcing, stopping})

    async def _next_change(self, group: asyncio.TaskGroup) -> None:
        """Wait until ownership may have changed, a partition was given up, or the node is to stop."""
        self._look_again.clear()
        changed = group.create_task(self.log.changed(), name="ownership")
        looking = group.create_task(self._look_again.wait(), name="look again")
        await asyncio.wait({changed, looking}, return_when=asyncio.FIRST_COMPLETED)
        for task in (changed, looking):
            task.cancel()

    def _left(self, owning: dict[int, asyncio.Task[None]], number: int, _task: asyncio.Task[None]) -> None:
        owning.pop(number, None)
        self._look_again.set()

    def _look_whether_ready(self) -> None:
        if self.reachable:
            self._answers_requests.set()
        if self.log.joined and self.workers.keys() >= self.log.owned:
            self._ready.set()
        else:
            self._ready.clear()

    def stop(self) -> None:
        """Finish the steps under way and end."""
        self._stop.set()
        self.commands.stopping = True
        self._look_again.set()
        for worker in self.workers.values():
            worker.stop()

    async def _keep(self, number: int) -> None:
        """Take a partition and work on it; take it again when the worker fails, while it is this node's."""
        delay_s = _RETAKE_FIRST_S
        while not self._stop.is_set() and number in self.log.owned:
            began = perf_counter()
            try:
                await self._work_on(number)
            except Exception as error:
                self.answers.fail(number, PartitionLost(partition=number))
                if self.log.lost:
                    raise
                if perf_counter() - began > _RETAKE_MOST_S:
                    delay_s = _RETAKE_FIRST_S  # it was well for a while
                self.metrics.failed(number, error)
                log.warning("partition %d failed, taking it again in %.1f s", number, delay_s, exc_info=error)
                await self._pause(delay_s)
                delay_s = min(delay_s * 2, _RETAKE_MOST_S)
        self.answers.fail(number, PartitionLost(partition=number))

    async def _work_on(self, number: int) -> None:
        """Take a partition, work on it until told to stop, and give it up."""
        began = perf_counter()
        partition = await self._take(number)
        if partition is None:
            return
        try:
            rules = self.settings.rules(number, self.log.partitions, self.log.refuse, self.tenants)
            worker = Worker(partition, Engine(rules), self.clock, self.answers, self.metrics, self.guard)
            self.metrics.taken(number, self.settings.node_id, perf_counter() - began)
            if number not in self.log.owned or self._stop.is_set():
                return
            self.workers[number] = worker
            self._look_whether_ready()
            self.log.moved()
            await _watched(worker)
        finally:
            self.workers.pop(number, None)
            self.log.moved()
            self._look_whether_ready()
            self.metrics.left(number, self.settings.node_id)
            await partition.close()

    async def _take(self, number: int) -> Partition | None:
        """Take a partition, unless it goes to another node or this one is to stop meanwhile."""
        taking = asyncio.create_task(self.log.take(number))
        try:
            while not taking.done():
                await asyncio.wait({taking}, timeout=_WATCH_EVERY_S)
                if self._stop.is_set() or number not in self.log.owned:
                    break
            return await taking if taking.done() else None
        finally:
            if not taking.done():
                taking.cancel()
                await asyncio.wait({taking})
                if not taking.cancelled() and taking.exception() is None:
                    await taking.result().close()

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except TimeoutError:
            return

    # tenants

    def _hear_of_tenant(self, key: str, value: bytes | None) -> None:
        name = key.removeprefix(TENANT_KEY)
        if name == key:
            return
        if value is None:
            self.tenants.pop(name, None)
            return
        try:
            self.tenants[name] = decode_known(Tenant, value)
        except DecodeError as error:
            log.warning("the rules of tenant %s are of another version, and are not followed: %s", name, error)

    async def put_tenant(self, name: str, tenant: Tenant) -> None:
        """Give a tenant rules of its own; durable on return, and known here. Other nodes hear of it in a moment."""
        await self.log.share(TENANT_KEY + name, encode_tenant(tenant))

    def own(self) -> Peer:
        """What this node says of itself."""
        return Peer(
            id=self.settings.node_id,
            url=self.settings.node_url,
            version=__version__,
            partitions=tuple(sorted(self.workers)),
            started_ms=self.started_ms,
            roles=tuple(self.roles),
            load=self.burden.load(),
        )

    # reads

    @property
    def stores(self) -> list[Store]:
        """The stores of this node's partitions."""
        return [self.workers[number].partition.store for number in sorted(self.workers)]


async def _watched(worker: Worker) -> None:
    """Run a worker; one that does nothing for long, not even look whether there is something to do, is given up."""
    running = asyncio.create_task(worker.run())
    try:
        while not running.done():
            await asyncio.wait({running}, timeout=_WATCH_EVERY_S)
            idle_s = monotonic() - worker.turned_at
            if not running.done() and idle_s > _STALLED_S:
                raise Stalled(partition=worker.partition.number, seconds=round(idle_s))
        await running
    finally:
        running.cancel()
        await asyncio.wait({running}, timeout=_WATCH_EVERY_S)
