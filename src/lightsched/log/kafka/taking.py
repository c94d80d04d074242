"""How is a partition taken? In this order, which is the proof that nothing is lost and nothing is done twice:

1. Open its directory, which no other process has open then.
2. Fence whoever wrote it before, and finish what that one has left open.
3. Note the ends of changelog and inputs; apply the changelog up to its end.
4. Go to the inputs' positions that the store knows now.
5. Still this node's? Then it may run.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from aiokafka import AIOKafkaConsumer, TopicPartition

from lightsched.log.kafka.clients import read_together, reader
from lightsched.log.kafka.connection import Connection
from lightsched.log.kafka.errors import ChangelogMissing, NotMine
from lightsched.log.kafka.listener import Listener
from lightsched.log.kafka.lost import Lost, lost_inputs, without
from lightsched.log.kafka.partition import KafkaPartition
from lightsched.log.kafka.restoring import LocalStore, restore, store_path
from lightsched.log.kafka.transactions import Transactions
from lightsched.store.rocks import Memory

if TYPE_CHECKING:
    from lightsched.log.kafka.log import KafkaLog

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taking:
    """What it takes."""

    connection: Connection
    path: Path  # of the node's stores
    memory: Memory  # for each
    offsets: AIOKafkaConsumer  # knows where topics begin and end, markers and open transactions included
    committed: Callable[[Sequence[TopicPartition]], Awaitable[Mapping[int, int]]]  # the group's offsets
    listener: Listener
    go_on: bool  # although inputs or state are lost

    async def take(self, whole: "KafkaLog", number: int) -> KafkaPartition:
        """Become the only writer of a partition."""
        began = perf_counter()
        topics = whole.topics
        async with AsyncExitStack() as undo:
            local = await asyncio.to_thread(LocalStore, store_path(self.path, number), number, self.memory)
            undo.callback(local.close)
            transactions = Transactions(self.connection, f"{topics.prefix}{number}", number)
            undo.push_async_callback(transactions.close)
            inputs = reader(self.connection, f"inputs-{number}")
            undo.push_async_callback(inputs.stop)
            changes = reader(self.connection, f"changelog-{number}")
            undo.push_async_callback(changes.stop)
            await transactions.start()
            whole.reach("fenced")
            changelog, events, reports = (
                TopicPartition(topic, number) for topic in (topics.changelog, topics.events, topics.reports)
            )
            firsts = await self.offsets.beginning_offsets([changelog, events, reports])
            ends = await self.offsets.end_offsets([changelog, events, reports])
            await asyncio.gather(changes.start(), inputs.start())
            read_together(inputs)
            read_before = await self._read_before(events, changelog) if firsts[changelog] == ends[changelog] else 0
            bounds, progress = (firsts[changelog], ends[changelog]), partial(self.listener.restored, number)
            applied = await restore(local, changes, changelog, bounds, whole.clock_ms, progress=progress)
            if local.store.meta.step == 0 and ends[changelog] > 0:
                read_before = await self._read_before(events, changelog)
            whole.reach("restored")
            _check_mine(whole, number)
            meta = local.store.meta
            positions = {events: meta.events_offset, reports: meta.reports_offset}
            firsts[events] = max(firsts[events], min(read_before, ends[events]))
            lost = self._accepted(lost_inputs(positions, firsts, ends))
            inputs.assign([events, reports])
            for place, position in (positions | {each.place: each.following for each in lost}).items():
                inputs.seek(place, position)
            partition = KafkaPartition(whole, number, local, transactions, inputs, (ends[events], ends[reports]))
            if lost:
                await self._pass_over(lost, partition, events.topic, whole.clock_ms())
            await changes.stop()
            undo.pop_all()  # nothing of it: it is taken
        log.info("partition %d: taken in %.2f s, %d changes applied", number, perf_counter() - began, applied)
        return partition

    async def _read_before(self, events: TopicPartition, changelog: TopicPartition) -> int:
        """Without a changelog, how many inputs had been read? If any: that is no first start, the state is gone."""
        offset = (await self.committed([events])).get(events.partition, 0)
        if offset and not self.go_on:
            raise ChangelogMissing(partition=events.partition, offset=offset, topic=changelog.topic)
        return offset

    def _accepted(self, lost: Iterable[Lost]) -> list[Lost]:
        """Inputs that are gone, if that was accepted."""
        found = list(lost)
        if found and not self.go_on:
            raise found[0].error()
        return found

    async def _pass_over(self, lost: Sequence[Lost], partition: KafkaPartition, events: str, now_ms: int) -> None:
        """Go on without inputs that are gone, and say so."""
        await partition.commit(without(lost, events, partition.store.meta, now_ms))
        for each in lost:
            log.error("partition %d: INPUTS ARE LOST: %s", partition.number, each)
            self.listener.input_lost(partition.number, each.count)


def _check_mine(whole: "KafkaLog", number: int) -> None:
    if number not in whole.owned:
        raise NotMine(partition=number)
