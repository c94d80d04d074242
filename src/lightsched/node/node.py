"""What is a running lightsched? A node: it opens the log, takes its partitions and runs a worker for each.

    node = await Node.open(settings)
    await node.run()        # until stop() is called, or the log is lost

Commands go in through `submit` and come back with their outcomes; reads go to the stores of the partitions.
"""

import asyncio
import logging
from collections.abc import Sequence
from time import perf_counter

from lightsched.engine.engine import Engine
from lightsched.engine.step import Answer
from lightsched.errors import LightschedError
from lightsched.event.record import Record
from lightsched.log.embedded.log import EmbeddedLog
from lightsched.node.answers import Answers
from lightsched.node.clock import Clock, SystemClock
from lightsched.node.guard import ClockGuard
from lightsched.node.metrics import Metrics
from lightsched.node.settings import Settings
from lightsched.node.worker import Worker
from lightsched.store.store import Store

log = logging.getLogger(__name__)

_RETAKE_FIRST_S = 0.5
_RETAKE_MOST_S = 30.0


class PartitionLost(LightschedError):
    """Partition {partition} has stopped before the outcome was known: ask for the event to see what became of it."""


class NodeStopped(LightschedError):
    """This node is stopping: try again in a moment."""


class Node:
    """One process's share of the work."""

    def __init__(self, settings: Settings, log_: EmbeddedLog, clock: Clock, guard: ClockGuard) -> None:
        self.settings = settings
        self.log = log_
        self.clock = clock
        self.guard = guard  # the only one: whoever stamps a record and whoever fires by it must mean the same now
        self.answers = Answers()
        self.metrics = Metrics()
        self.workers: dict[int, Worker] = {}
        self._stop = asyncio.Event()
        self._ready = asyncio.Event()

    @classmethod
    async def open(cls, settings: Settings, clock: Clock | None = None) -> "Node":
        """Open the log; nothing fires yet."""
        clock = clock or SystemClock()
        guard = ClockGuard(clock.wall_ms(), clock.monotonic_ms())

        def stamp_ms() -> int:
            return guard.look(clock.wall_ms(), clock.monotonic_ms()).now_ms

        log_ = await EmbeddedLog.open(
            settings.data,
            partitions=settings.embedded.partitions,
            prefix=settings.embedded.prefix,
            clock_ms=stamp_ms,
            retention_ms=settings.embedded.retention,
        )
        return cls(settings, log_, clock, guard)

    @property
    def now_ms(self) -> int:
        """The present, as far as the clock is believed."""
        return self.guard.look(self.clock.wall_ms(), self.clock.monotonic_ms()).now_ms

    @property
    def ready(self) -> bool:
        """All partitions are taken and running."""
        return self._ready.is_set() and not self._stop.is_set()

    async def wait_ready(self) -> None:
        """Wait until all partitions are running."""
        await self._ready.wait()

    async def run(self) -> None:
        """Run all partitions until stopped, then close the log."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self.log.partitions):
                    group.create_task(self._own(number), name=f"partition {number}")
        finally:
            self._stop.set()
            for number in range(self.log.partitions):
                self.answers.fail(number, NodeStopped())
            await self.log.close()

    def stop(self) -> None:
        """Finish the steps under way and end."""
        self._stop.set()
        for worker in self.workers.values():
            worker.stop()

    async def _own(self, number: int) -> None:
        """Take a partition and work on it; take it again when the worker fails, unless the log itself is lost."""
        delay_s = _RETAKE_FIRST_S
        while not self._stop.is_set():
            began = perf_counter()
            partition = await self.log.take(number)
            rules = self.settings.rules(number, self.log.partitions, self.log.refuse)
            worker = Worker(partition, Engine(rules), self.clock, self.answers, self.metrics, self.guard)
            self.workers[number] = worker
            self.metrics.restore_seconds.labels(number).set(perf_counter() - began)
            self.metrics.owner.labels(number, self.settings.node.id).set(1)
            if len(self.workers) == self.log.partitions:
                self._ready.set()
            try:
                await worker.run()
            except Exception as error:
                if perf_counter() - began > _RETAKE_MOST_S:
                    delay_s = _RETAKE_FIRST_S  # it was well for a while
                del self.workers[number]
                self._ready.clear()
                self.answers.fail(number, PartitionLost(partition=number))
                if self.log.lost:
                    raise
                log.exception("partition %d failed, taking it again in %.1f s", number, delay_s, exc_info=error)
                await self._pause(delay_s)
                delay_s = min(delay_s * 2, _RETAKE_MOST_S)
            finally:
                await partition.close()

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except TimeoutError:
            return

    # commands

    async def submit(self, topic: str, placed: Sequence[tuple[int, Record]]) -> list[Answer]:
        """Append commands or reports, each to its partition, and wait for their outcomes; the order is kept."""
        if self._stop.is_set():
            raise NodeStopped
        by_partition: dict[int, list[int]] = {}
        for index, (partition, _) in enumerate(placed):
            by_partition.setdefault(partition, []).append(index)
        waits = []
        for partition, indexes in by_partition.items():
            first = self.log.append_now(topic, partition, [placed[index][1] for index in indexes])
            waits.append((indexes, self.answers.expect(topic, partition, first, len(indexes))))
        answers: list[Answer | None] = [None] * len(placed)
        for indexes, wait in waits:
            for index, answer in zip(indexes, await wait, strict=True):
                answers[index] = answer
        return [answer for answer in answers if answer is not None]

    # reads

    @property
    def stores(self) -> list[Store]:
        """The stores of this node's partitions."""
        return [self.workers[number].partition.store for number in sorted(self.workers)]
