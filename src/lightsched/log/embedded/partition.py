"""What does a worker hold of the embedded log? Its partition: the store, the inputs, and the commit of a step."""

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from lightsched.engine.step import Step
from lightsched.event.record import Appended
from lightsched.log.embedded.topic import TopicPartition
from lightsched.log.errors import PartitionBroken
from lightsched.log.records import emitted
from lightsched.store.rocks import new_batch
from lightsched.store.store import Store

if TYPE_CHECKING:
    from lightsched.log.embedded.log import EmbeddedLog


class EmbeddedPartition:
    """A partition of the embedded log. Implements `lightsched.log.port.Partition`."""

    def __init__(self, log: "EmbeddedLog", number: int, store: Store) -> None:
        self.number = number
        self.store = store
        self._log = log
        self._events = log.catalogue.partition(log.topics.events, number)
        self._reports = log.catalogue.partition(log.topics.reports, number)
        self._next_event = store.meta.events_offset
        self._next_report = store.meta.reports_offset
        self._ends = self._events.end, self._reports.end  # noted while taking it
        self._last_ms = [0, 0]  # when the last event and the last report were appended that were read
        self._broken = False  # given up, or the store in memory is no longer the one on disk
        self._awake = asyncio.Event()
        self._events.on_written = self._reports.on_written = self.wake

    @property
    def behind(self) -> bool:
        """Inputs from before the take are still to be read: nothing may fire before them."""
        return self._next_event < self._ends[0] or self._next_report < self._ends[1]

    @property
    def lag(self) -> int:
        """Inputs that are still to be read."""
        return self._events.end - self._next_event + self._reports.end - self._next_report

    def read_until(self, now_ms: int) -> tuple[int, int]:
        """Until when all is read that was appended: commands, reports."""
        events_ms, reports_ms = self._last_ms
        return (
            events_ms if self._next_event < self._events.end else now_ms,
            reports_ms if self._next_report < self._reports.end else now_ms,
        )

    async def read(self, limit: int, wait_s: float) -> list[Appended]:
        """The next inputs: at once if there are any, otherwise after at most `wait_s`, or when `wake` is called."""
        inputs = self._read(limit)
        if inputs or wait_s <= 0:
            self._awake.clear()
            return inputs
        try:
            async with asyncio.timeout(wait_s):
                await self._awake.wait()
        except TimeoutError:
            pass
        self._awake.clear()
        self._log.check()
        return self._read(limit)

    def wake(self) -> None:
        """End a waiting `read` now, or the next one that would wait."""
        self._awake.set()

    async def commit(self, step: Step) -> None:
        """Make a step durable, then visible."""
        await (await self.write(step))

    async def write(self, step: Step) -> Awaitable[None]:
        """Write a step; wait for what is returned until it is durable and visible.

        1. One batch: the store's changes, the records, what retention drops.
        2. Write it. The store has the step now, so the next one may be computed meanwhile.
        3. The sync that is shared by all who write.
        4. Visible: subscribers may read the records. (Workers may already: `lightsched.log.embedded.topic`.)
        """
        log = self._log
        log.check()
        if self._broken:
            raise PartitionBroken(partition=self.number)
        batch = new_batch()
        touched: dict[int, TopicPartition] = {}
        try:
            self.store.apply(batch, step)
            now_ms = log.clock_ms()
            place = log.catalogue.partition
            for topic, number, record in emitted(step, self.number, log.topics):
                partition = place(topic, number)
                partition.stage(record)
                touched[id(partition)] = partition
            for partition in (
                *log.retention.drop_consumed(batch, self._events, step.meta.events_offset),
                *log.retention.drop_consumed(batch, self._reports, step.meta.reports_offset),
                *log.retention.drop_old(batch, step.now_ms),  # a time the worker believes, unlike the clock's
            ):
                touched[id(partition)] = partition
            for partition in touched.values():
                partition.seal(batch, now_ms)
        except BaseException:
            self._broken = True
            for partition in touched.values():
                partition.unstage()
            raise
        log.write(batch, touched.values(), "commit")
        return log.synced()

    async def close(self) -> None:
        """Give the partition up."""
        self._broken = True
        self._events.on_written = self._reports.on_written = None
        self._log.give_up(self)

    def _read(self, limit: int) -> list[Appended]:
        """Events, then reports; where there are more than the limit, neither keeps the other waiting."""
        reports = self._reports.end - self._next_report
        events = min(self._events.end - self._next_event, limit - min(reports, limit // 2))
        inputs = self._events.read(self._next_event, events)
        if inputs:
            self._next_event, self._last_ms[0] = inputs[-1].offset + 1, inputs[-1].timestamp_ms
        if reports:
            found = self._reports.read(self._next_report, limit - len(inputs))
            if found:
                self._next_report, self._last_ms[1] = found[-1].offset + 1, found[-1].timestamp_ms
                inputs += found
        return inputs
