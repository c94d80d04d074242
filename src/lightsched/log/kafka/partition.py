"""What does a worker hold of Kafka? Its partition: the store, the inputs, and the commit of a step.

One step = one transaction: deliveries, follow-ups, dead letters, audit and changelog. The store is written after the
commit, never before: a crash in between leaves it behind, and restoring repairs that.
"""

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError
from msgspec import structs

from lightsched.engine.step import Meta, Step
from lightsched.event.record import Appended, Record
from lightsched.log.errors import Fenced, PartitionBroken, StepRefused
from lightsched.log.kafka.changelog import POSITION, Position, encode_position, to_records
from lightsched.log.kafka.clients import appended, check_fetching, stop_consumer
from lightsched.log.kafka.directory import cut
from lightsched.log.kafka.errors import InputLost, StoreBroken
from lightsched.log.kafka.restoring import LocalStore
from lightsched.log.kafka.transactions import BadTopic, Transactions
from lightsched.log.port import Place
from lightsched.log.records import by_topic, others
from lightsched.store.rocks import new_batch
from lightsched.store.store import Store

if TYPE_CHECKING:
    from lightsched.log.kafka.log import KafkaLog

_POLL_MS = 500
_ARRIVES_S = 0.05
_STALE_S = 1.0
_TIDY_S = 60.0
_MOST_BYTES = 8 * 1024 * 1024
"""Of inputs that are read at once."""
_PORTION = 200
"""Inputs after which it is looked how large they are."""
_RECORD_BYTES = 200  # besides its value


class KafkaPartition:
    """A partition of Kafka. Implements `lightsched.log.port.Partition`."""

    def __init__(  # noqa: PLR0917 -- what taking it has made
        self,
        log: "KafkaLog",
        number: int,
        local: LocalStore,
        transactions: Transactions,
        inputs: AIOKafkaConsumer,
        ends: tuple[int, int],
    ) -> None:
        """`inputs`: assigned to both input topics, at the store's positions. `ends`: of them, noted after the fence."""
        self.number = number
        self._log = log
        self._local = local
        self._transactions = transactions
        self._inputs = inputs
        self._ends = ends
        self._events = TopicPartition(log.topics.events, number)
        self._reports = TopicPartition(log.topics.reports, number)
        self._changelog: Place = (log.topics.changelog, number)
        meta = local.store.meta
        self._positions = self._records_end = meta.events_offset, meta.reports_offset
        self._last_ms = [0, 0]  # when the last event and the last report were appended that were read
        self._first: asyncio.Task[dict[TopicPartition, list[ConsumerRecord]]] | None = None  # somebody waits for it
        self._awake = asyncio.Event()
        self._broken = False
        self._committed_at = 0.0
        self._read_at = asyncio.get_running_loop().time()

    @property
    def store(self) -> Store:
        """Its state."""
        return self._local.store

    @property
    def behind(self) -> bool:
        """Inputs from before the take are still to be read: nothing may fire before them."""
        return self._positions[0] < self._ends[0] or self._positions[1] < self._ends[1]

    @property
    def lag(self) -> int:
        """Inputs that are still to be read, as far as is known."""
        lag = 0
        for each, position in zip((self._events, self._reports), self._positions, strict=True):
            lag += max((self._inputs.highwater(each) or position) - position, 0)
        return lag

    def read_until(self, now_ms: int) -> tuple[int, int]:
        """Until when all is read that was appended, as far as the last fetch has told: commands, reports.

        What is in a transaction that is still open cannot be read, nor what is behind it: nobody waits for that.
        """
        return self._until(self._events, 0, now_ms), self._until(self._reports, 1, now_ms)

    def _until(self, place: TopicPartition, which: int, now_ms: int) -> int:
        stable = self._inputs.last_stable_offset(place)
        end = self._ends[which] if stable is None else stable
        return self._last_ms[which] if self._positions[which] < end else now_ms

    async def read(self, limit: int, wait_s: float) -> list[Appended]:
        """The next inputs: at once if there are any, otherwise after at most `wait_s`, or when `wake` is called.

        While it is behind there are some, on their way here: then it waits a little in any case.
        """
        if self._broken:
            raise PartitionBroken(partition=self.number)
        check_fetching(self._inputs)
        loop = asyncio.get_running_loop()
        if loop.time() - self._read_at > _STALE_S:
            await self._note_ends()
        if (pause_s := self._log.pace.wait_s(self._committed_at, loop.time())) > 0:
            await asyncio.sleep(pause_s)
        until = loop.time() + (wait_s if wait_s > 0 or not self.behind else _ARRIVES_S)
        while True:
            if loop.time() > until + _STALE_S:
                await self._note_ends()
            inputs = await self._read(limit)
            if inputs or self._awake.is_set() or loop.time() >= until:
                self._awake.clear()
                self._read_at = loop.time()
                if not inputs:
                    await self._keep_position()
                return inputs
            if self._first is None:
                self._first = asyncio.create_task(self._inputs.getmany(timeout_ms=_POLL_MS, max_records=1))
            waking = asyncio.ensure_future(self._awake.wait())
            try:
                await asyncio.wait(
                    {self._first, waking}, timeout=until - loop.time(), return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                waking.cancel()

    async def _note_ends(self) -> None:
        """It has not looked for long: the process was paused, or a commit took its time.

        Nothing fires before the inputs that have arrived meanwhile: a cancel may be among them, or what is due earlier.
        """
        ends = await self._inputs.end_offsets([self._events, self._reports])
        self._ends = ends[self._events], ends[self._reports]

    async def _read(self, limit: int) -> list[Appended]:
        """What has arrived: events, then reports; where there is more than the limit, neither keeps the other waiting.

        While somebody waits for the first one, nothing has.
        """
        if self._first is not None and not self._first.done():
            return []
        first, self._first = self._first, None
        found: dict[TopicPartition, list[ConsumerRecord]] = {self._events: [], self._reports: []}
        try:
            if first is not None:
                for each, records in first.result().items():
                    found[each] += records
            for each, share in ((self._reports, limit // 2), (self._events, limit), (self._reports, limit)):
                room = share - sum(map(len, found.values()))
                if room > 0:
                    found[each] += await self._fetched(each, room)
        except OffsetOutOfRangeError as error:
            raise await self._lost() from error
        # Not the last record's: aborted ones and markers are passed over.
        self._positions = await self._inputs.position(self._events), await self._inputs.position(self._reports)
        for which, records in enumerate(found.values()):
            if records:
                self._last_ms[which] = records[-1].timestamp
        last_event, last_report = (records[-1].offset if records else -1 for records in found.values())
        self._records_end = max(self._records_end[0], last_event + 1), max(self._records_end[1], last_report + 1)
        return [appended(record) for records in found.values() for record in records]

    async def _fetched(self, place: TopicPartition, most: int) -> list[ConsumerRecord]:
        """What has arrived at a place: no more than a step may have, whatever it was compressed to."""
        found: list[ConsumerRecord] = []
        size, portion = 0, min(most, _PORTION)
        while portion > 0:
            some = (await self._inputs.getmany(place, max_records=portion)).get(place, ())
            found += some
            if len(some) < portion:
                break
            size += sum(len(record.value or b"") + _RECORD_BYTES for record in some)
            portion = min(most - len(found), (_MOST_BYTES - size) * len(found) // size)
        return found

    async def _keep_position(self) -> None:
        """Markers of transactions may follow the last record that was read; in a quiet minute they are passed over.

        Otherwise, when retention has deleted both, it would seem that inputs are gone that nobody has read.
        """
        meta = self.store.meta
        if asyncio.get_running_loop().time() - self._committed_at >= _TIDY_S:
            step = Step(self._log.clock_ms(), structs.replace(meta, step=meta.step + 1))
            if self._pass_over_markers(step.meta):
                await self.commit(step)

    def _pass_over_markers(self, meta: Meta) -> bool:
        """Where all records are consumed that were read, go on after the markers; is there any?"""
        before = meta.events_offset, meta.reports_offset
        if before[0] >= self._records_end[0]:
            meta.events_offset = max(before[0], self._positions[0])
        if before[1] >= self._records_end[1]:
            meta.reports_offset = max(before[1], self._positions[1])
        return before != (meta.events_offset, meta.reports_offset)

    async def _lost(self) -> InputLost:
        meta = self.store.meta
        for each, following in ((self._events, meta.events_offset), (self._reports, meta.reports_offset)):
            first = await self._log.first_offset(each)
            if first > following:
                return InputLost(partition=self.number, topic=each.topic, first=first, next=following)
        return InputLost(partition=self.number, topic=self._events.topic, first="another", next=meta.events_offset)

    def wake(self) -> None:
        """End a waiting `read` now, or the next one that would wait."""
        self._awake.set()

    async def commit(self, step: Step) -> None:
        """Write a step, and wait until it is durable and visible."""
        await (await self.write(step))

    async def write(self, step: Step) -> Awaitable[None]:
        """Commit a step, then take it into the store.

        1. Every delivery topic is known, or the step has to be made again without those that are not.
        2. One transaction.
        3. One batch into the store, with the position in the changelog.
        """
        if self._broken:
            raise PartitionBroken(partition=self.number)
        topics = self._log.directory
        delivered = {topic for delivery in step.deliveries for topic in delivery.topics}
        while await topics.learn(delivered):  # another worker may have let it forget some meanwhile
            for delivery in step.deliveries:
                if why := topics.refuse(delivery):
                    raise StepRefused(why=why)
        self._pass_over_markers(step.meta)
        changes = self.store.changes(step)
        placed = self._placed(step)
        placed[self._changelog] = to_records(changes)
        try:
            ends = await self._transactions.commit(placed, step.now_ms, topics.most_bytes)
        except BadTopic as error:
            if error.topic not in self._log.topics.own:
                refuse = topics.doubt if error.too_large else topics.avoid
                refuse(error.topic, f"it was refused: {type(error.why).__name__}")
            raise StepRefused(why=str(error)) from error
        except StepRefused:
            raise
        except BaseException as error:
            self._broken = True
            if isinstance(error, Fenced):
                self._log.fenced.add(self.number)
            topics.forget(delivered)  # aiokafka waits in vain for a topic that was deleted
            raise
        try:
            self._log.reach("committed")
            batch = new_batch()
            self.store.apply(batch, step, changes)
            reached = self._reached(ends[self._changelog], len(changes))
            self.store.remember(batch, POSITION, encode_position(reached))
            self._local.rocks.write(batch)
        except BaseException as error:
            self._broken = True
            raise StoreBroken(partition=self.number, why=error) from error
        self._committed_at = asyncio.get_running_loop().time()
        self._log.pace.committed(self._committed_at)
        self._log.note(self.number, step.meta.events_offset)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def _reached(self, offset: int, changes: int) -> Position:
        """The position after a commit; meta is the last of the changes."""
        now_ms = self._log.clock_ms()
        if offset >= changes:
            return Position(offset, now_ms, offset - 1)
        before = self._local.position  # the offset is -1 + n: the broker did not tell it, so we stay where we were
        return Position(0 if before is None else before.offset, now_ms)

    def _placed(self, step: Step) -> dict[Place, list[Record]]:
        """The records of a step by topic and partition: where the topic has as many partitions, in its own."""
        placed: dict[Place, list[Record]] = {}
        directory, own = self._log.directory, self._log.topics
        for topic, deliveries in by_topic(step.deliveries).items():
            if directory.alike(topic):
                placed[topic, self.number] = deliveries
            else:
                for record in deliveries:
                    placed.setdefault((topic, directory.place(topic, self.number, record)), []).append(record)
        most_bytes = directory.most_bytes(own.dead_letter)
        for topic, number, record in others(step, self.number, own):
            written = cut(record, most_bytes) if topic == own.dead_letter else record
            placed.setdefault((topic, directory.place(topic, number, record)), []).append(written)
        return placed

    async def close(self) -> None:
        """Give the partition up: the next owner may take it. A transaction that is open is left to it."""
        self._broken = True
        self._awake.set()
        if self._first is not None:
            self._first.cancel()
            await asyncio.gather(self._first, return_exceptions=True)
            self._first = None
        try:
            await asyncio.gather(stop_consumer(self._inputs), self._transactions.close(), return_exceptions=True)
        finally:
            self._local.close()
            self._log.give_up(self)
