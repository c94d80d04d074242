"""What is the embedded log? One RocksDB that holds topics, positions of readers, and the stores of all partitions.

Everything runs in one event loop; only the sync has a thread of its own. A failed write or sync ends the log: what was
acknowledged before is safe, nothing is acknowledged after, and the process has to open it again.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from rocksdict import WriteBatch

from lightsched.event.delivery import Delivery
from lightsched.event.record import Appended, Record
from lightsched.event.topics import Topics
from lightsched.log.embedded.catalogue import Catalogue
from lightsched.log.embedded.families import FAMILIES
from lightsched.log.embedded.partition import EmbeddedPartition
from lightsched.log.embedded.retention import Retention
from lightsched.log.embedded.signal import Signal
from lightsched.log.embedded.sync import SharedSync
from lightsched.log.embedded.topic import TopicPartition
from lightsched.log.errors import LogClosed, LogLost, NoSuchPartition, PartitionTaken, TooManyTopics
from lightsched.log.peer import Peer
from lightsched.log.port import Place
from lightsched.store.rocks import Rocks, new_batch
from lightsched.store.store import Store

WEEK_MS = 7 * 24 * 60 * 60 * 1000

FAULTS = (
    *("commit before write", "commit after write"),
    *("append before write", "append after write"),
    *("acknowledge before write", "acknowledge after write"),
    *("before visible", "after visible"),
)
"""Where a test may let the log crash: everything happens before or after one of these."""


class EmbeddedLog:
    """Topics and partitions in one directory. Implements `lightsched.log.port.Log`."""

    def __init__(
        self,
        rocks: Rocks,
        *,
        partitions: int,
        topics: Topics,
        clock_ms: Callable[[], int],
        retention_ms: int,
        fault: Callable[[str], None] | None = None,
    ) -> None:
        self.partitions = partitions
        self.topics = topics
        self.clock_ms = clock_ms
        self.catalogue = Catalogue(rocks, topics, partitions)
        for name in (topics.events, topics.reports, topics.deliveries, topics.audit, topics.dead_letter):
            self.catalogue.topic(name)  # there is always room for its own
        self.retention = Retention(self.catalogue, retention_ms)
        self._rocks = rocks
        self._fault = fault
        self._taken: dict[int, EmbeddedPartition] = {}
        self._sync = SharedSync(self._sync_now, self._begin_sync, self._finish_sync)
        self._unsynced: dict[TopicPartition, None] = {}
        self._visible: dict[str, Signal] = {}  # topic → what its subscribers wait for
        self._watching: Callable[[str, bytes | None], None] = lambda _key, _value: None
        self._closed = False

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        partitions: int,
        clock_ms: Callable[[], int],
        prefix: str = "lightsched.",
        retention_ms: int = WEEK_MS,
        fault: Callable[[str], None] | None = None,
    ) -> "EmbeddedLog":
        """Open the log in a directory, or make one there. `clock_ms` stamps the records."""
        rocks = await asyncio.to_thread(Rocks, path, FAMILIES)
        try:
            return cls(
                rocks,
                partitions=partitions,
                topics=Topics(prefix),
                clock_ms=clock_ms,
                retention_ms=retention_ms,
                fault=fault,
            )
        except BaseException:
            rocks.close()
            raise

    @property
    def lost(self) -> bool:
        """A write or a sync has failed: nothing more can be done with this log but to open it again."""
        return self._sync.failure is not None

    def refuse(self, delivery: Delivery) -> str:
        """Why a delivery cannot be made, empty if it can. A topic that is new is made: the step will find it."""
        try:
            for topic in delivery.topics:
                self.catalogue.topic(topic)
        except TooManyTopics as error:
            return str(error)
        return ""

    async def take(self, number: int) -> EmbeddedPartition:
        """Become the only writer of a partition: restored, positioned at its next input."""
        self.check()
        if not 0 <= number < self.partitions:
            raise NoSuchPartition(partition=number, topic="the log", partitions=self.partitions)
        if number in self._taken:
            raise PartitionTaken(partition=number)
        self._write_held(number)  # what the worker before has read, and not finished
        taken = self._taken[number] = EmbeddedPartition(self, number, Store(self._rocks, number))
        return taken

    def give_up(self, partition: EmbeddedPartition) -> None:
        """A partition was closed and may be taken again."""
        if self._taken.get(partition.number) is partition:
            del self._taken[partition.number]

    @property
    def owned(self) -> frozenset[int]:
        """All partitions are this node's."""
        return frozenset(range(self.partitions))

    @property
    def joined(self) -> bool:
        """There is nobody else."""
        return True

    @property
    def known_topics(self) -> list[str]:
        """Its own topics, and those that something was delivered to."""
        return self.catalogue.names

    @property
    def peers(self) -> list[Peer]:
        """There are no other nodes."""
        return []

    @property
    def keeps_submitted(self) -> bool:
        """It is durable with the step that reads it."""
        return False

    def watch(self, told: Callable[[str, bytes | None], None]) -> None:
        """Say what is shared, by key: what there is, and from now on whatever changes."""
        self._watching = told
        for key, value in self.catalogue.shared():
            told(key, value)

    async def share(self, key: str, value: bytes | None) -> None:
        """Keep something; durable on return."""
        self.check()
        batch = new_batch()
        self.catalogue.share(batch, key, value)
        self.write(batch, (), "acknowledge")
        await self.synced()
        self._watching(key, value)

    def moved(self) -> None:
        """There is nobody to tell."""

    async def announce(self, own: Callable[[], Peer]) -> None:
        """There is nobody to tell."""

    async def changed(self) -> None:
        """It never does."""
        await asyncio.Event().wait()

    async def append(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append records, all or none, durable on return; the offset of the first."""
        first = self._append(topic, partition, records)
        await self.synced()
        return first

    async def submit(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append records for a worker of this process, all or none; the offset of the first.

        They are durable no later than the step that reads them: whoever waits for its outcome need not wait twice.
        """
        self.check()
        target = self.catalogue.partition(topic, partition)
        first = target.end
        if partition in self._taken and target.on_written is not None and target.hold(records, self.clock_ms()):
            return first
        return self._append(topic, partition, records)

    async def append_all(self, topic: str, placed: Mapping[int, Sequence[Record]]) -> dict[int, int]:
        """Append records to several partitions of a topic, all or none, durable on return; the first offset in each."""
        firsts = self._append_all(topic, placed)
        await self.synced()
        return firsts

    def _append(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        return self._append_all(topic, {partition: records})[partition]

    def _append_all(self, topic: str, placed: Mapping[int, Sequence[Record]]) -> dict[int, int]:
        self.check()
        targets = {self.catalogue.partition(topic, number): records for number, records in placed.items()}
        batch = new_batch()
        now_ms = self.clock_ms()
        try:
            for target, records in targets.items():
                for record in records:
                    target.stage(record)
                target.seal(batch, now_ms)
        except BaseException:
            for target in targets:
                target.unstage()
            raise
        firsts = {target.number: target.end for target in targets}
        self.write(batch, targets, "append")
        return firsts

    def _write_held(self, number: int) -> None:
        """Write what a partition's inputs hold in memory."""
        for topic in (self.topics.events, self.topics.reports):
            inputs = self.catalogue.partition(topic, number)
            if inputs.stored < inputs.end:
                batch = new_batch()
                inputs.seal_held(batch)
                self.write(batch, (), "append")
                inputs.held_written()
                self._unsynced[inputs] = None

    async def fetch(self, topic: str, positions: Mapping[int, int], limit: int, wait_s: float) -> list[Appended]:
        """Durable records of a topic from these positions (partition → next offset; absent: its start) on; waits up
        to `wait_s` for the first.
        """
        self.check()
        found = self._fetch(topic, positions, limit)
        if found or wait_s <= 0:
            return found
        visible = self._visible.setdefault(topic, Signal())
        try:
            async with asyncio.timeout(wait_s):
                while not found and not self._closed:
                    await visible.wait()
                    found = self._fetch(topic, positions, limit)
        except TimeoutError:
            return []
        finally:
            if not visible.waited_for:
                self._visible.pop(topic, None)
        return found

    async def positions(self, topic: str, group: str) -> dict[int, int]:
        """Where a group of readers stands."""
        self.check()
        return self.catalogue.positions(topic, group)

    async def acknowledge(self, topic: str, group: str, positions: Mapping[int, int]) -> None:
        """Move a group of readers; durable on return."""
        self.check()
        batch = new_batch()
        self.catalogue.move(batch, topic, group, positions)
        self.write(batch, (), "acknowledge")
        await self.synced()

    async def ends(self, topic: str) -> dict[int, tuple[int, int]]:
        """Partition → the first offset of a topic's records and the one after its last durable one."""
        found = self.catalogue.find(topic)
        return dict.fromkeys(range(self.partitions), (0, 0)) | {
            partition.number: (partition.first, partition.readable) for partition in found
        }

    async def all_ends(self, topics: Sequence[str]) -> dict[Place, tuple[int, int]]:
        """As `ends`, of several topics at once."""
        return {(topic, number): ends for topic in topics for number, ends in (await self.ends(topic)).items()}

    async def look(self, spans: Mapping[Place, range], take: Callable[[list[Appended]], None]) -> None:
        """Hand out the durable records at these offsets; others have their turn between two places."""
        for (topic, number), span in spans.items():
            self.check()
            take(self.catalogue.partition(topic, number).fetch(span.start, len(span)))
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Finish what is under way and let go of the directory."""
        if self._closed:
            return
        try:
            if not self.lost:
                for number in range(self.partitions):
                    self._write_held(number)
                await self._sync.request()
        finally:
            self._let_go()

    def abandon(self) -> None:
        """Let go of the directory the way a killed process does: nothing is finished. For tests of crashes."""
        if not self._closed:
            self._sync.fail(LogClosed())
            self._let_go()

    # for the partitions of this log

    def check(self) -> None:
        """Can it still be used?"""
        if self._closed:
            raise LogClosed
        if self._sync.failure is not None:
            raise self._sync.failure

    def write(self, batch: WriteBatch, touched: Collection[TopicPartition], what: str) -> None:
        """Write a batch with the records staged in it. Workers may read them now."""
        try:
            self.reach(f"{what} before write")
            self._rocks.write(batch)
            self.reach(f"{what} after write")
        except BaseException as error:
            self._sync.fail(LogLost(path=self._rocks.path, why=error))
            raise
        for partition in touched:
            partition.written()
            self._unsynced[partition] = None

    def synced(self) -> asyncio.Future[None]:
        """Done when all that was written so far is durable and visible."""
        return self._sync.request()

    def reach(self, point: str) -> None:
        """A point where a test may let it crash."""
        if self._fault is not None:
            self._fault(point)

    def _fetch(self, topic: str, positions: Mapping[int, int], limit: int) -> list[Appended]:
        """Fair to the partitions: none gets more than its share while another has more than it gets."""
        if self._closed:
            return []
        waiting = [
            (partition.readable - start, partition, start)
            for partition in self.catalogue.find(topic)
            if (start := max(positions.get(partition.number, 0), partition.first)) < partition.readable
        ]
        waiting.sort(key=lambda each: each[0])
        found: list[Appended] = []
        for index, (count, partition, start) in enumerate(waiting):
            share = -(-(limit - len(found)) // (len(waiting) - index))
            found += partition.fetch(start, min(count, share))
        found.sort(key=lambda appended: appended.partition)
        return found

    def _sync_now(self) -> None:
        """In the thread of the sync."""
        try:
            self._rocks.sync()
        except Exception as error:
            raise LogLost(path=self._rocks.path, why=error) from error

    def _begin_sync(self) -> list[tuple[TopicPartition, int]]:
        covered = [(partition, partition.stored) for partition in self._unsynced]
        self._unsynced.clear()
        return covered

    def _finish_sync(self, covered: list[tuple[TopicPartition, int]]) -> None:
        self.reach("before visible")
        for partition, end in covered:
            partition.readable = end
            if (visible := self._visible.get(partition.topic)) is not None:
                visible.give()
        self.reach("after visible")

    def _let_go(self) -> None:
        self._closed = True
        for visible in self._visible.values():
            visible.give()
        for taken in self._taken.values():
            taken.wake()
        self._taken.clear()
        self._sync.close()
        self._rocks.close()
