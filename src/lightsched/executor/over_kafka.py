"""How does an executor work on Kafka? As one of a consumer group; reports and consumed positions in one transaction.

What lies before a committed position is done with: reported on in that transaction or an earlier one, or carried by
its lease since a heartbeat. So nothing is lost, whenever a process dies: what it had taken and not reported comes
again, to whoever gets the partition. Reports are idempotent and bound to their delivery by a token: one that is sent
twice changes nothing, and one that is lost becomes a timeout.

aiokafka sends no group metadata with a transaction, so the broker does not know whether whoever commits positions is
still in the group. Hence the former owner of a partition is fenced (`ownership`) before anything is taken from it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import KafkaError

from lightsched.client.kafka_place import Kafka
from lightsched.client.kafka_topics import check_exists, failed
from lightsched.event.topics import Topics
from lightsched.executor.ownership import Ownership
from lightsched.executor.source import HandOver, Said
from lightsched.executor.taken import Taken
from lightsched.executor.transactions import Transactions
from lightsched.odd_headers import read_any_name, without_null

read_any_name()
log = logging.getLogger(__name__)

_POLL_MS = 1_000
_HEARTBEAT_MS = 1_000
_REBALANCE_MS = 30_000
_NEVER_MS = 86_400_000  # how long functions run is no reason to leave the group
_AGAIN_S = 0.5
_TRIES = 8


class KafkaSource(ConsumerRebalanceListener):  # type: ignore[misc]
    """Delivery topics as the source of deliveries."""

    def __init__(self, kafka: Kafka, group: str, topics: Sequence[str], name: str, session_s: float) -> None:
        own = Topics(kafka.prefix)
        self._kafka = kafka
        self._session_ms = int(session_s * 1000)
        self._group = group
        self._topics = [own.deliveries if topic == "deliveries" else topic for topic in topics]
        self._reports = own.reports
        self._common = {"bootstrap_servers": kafka.bootstrap, "client_id": f"lightsched-{name}", **kafka.settings}
        self._transactions = Transactions(self._common, f"{kafka.prefix}executor-{group}-{name}", self._reports, group)
        self._ownership = Ownership(self._common, group)
        self._under_way: dict[TopicPartition, deque[Taken]] = {}  # of each partition that is this executor's
        self._next: dict[TopicPartition, int] = {}  # behind the last that was taken
        self._generation = 0
        self._saying = False
        self._assigned = asyncio.Event()
        self._failure: Exception | None = None
        self._hand_over: HandOver
        self._consumer: AIOKafkaConsumer

    async def start(self, hand_over: HandOver) -> None:
        """Join the group."""
        self._hand_over = hand_over
        await check_exists(self._kafka, self._common, *self._topics, self._reports)
        self._consumer = AIOKafkaConsumer(
            group_id=self._group,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=self._session_ms,
            heartbeat_interval_ms=min(self._session_ms // 4, _HEARTBEAT_MS),
            rebalance_timeout_ms=_REBALANCE_MS,
            max_poll_interval_ms=_NEVER_MS,
            **self._common,
        )
        self._consumer.subscribe(self._topics, listener=self)
        try:
            await self._transactions.start()
            await self._consumer.start()
        except KafkaError as error:
            await self.close()
            raise failed(self._kafka, error) from error

    async def take(self, most: int) -> list[Taken]:
        """What lies next in any of the partitions."""
        try:
            found = await self._consumer.getmany(timeout_ms=_POLL_MS, max_records=most)
        except KafkaError as error:
            if not error.retriable:
                raise failed(self._kafka, error) from error
            log.warning("deliveries cannot be read, it is tried again: %r", error)
            await asyncio.sleep(_AGAIN_S)
            return []
        await self._assigned.wait()
        if self._failure is not None:
            raise self._failure
        taken: list[Taken] = []
        for place, records in found.items():
            under_way = self._under_way.get(place)
            if under_way is None:  # it went to another one in this moment
                continue
            topic_and_partition = (place.topic, place.partition)
            first = self._next.get(place, 0)
            for record in records:
                if record.offset >= first:
                    headers = dict(without_null(record.headers))
                    try:
                        one = Taken(topic_and_partition, record.offset, record.key or b"", record.value or b"", headers)
                    except ValueError:
                        log.warning(
                            "%s/%d has something at %d that is no delivery", *topic_and_partition, record.offset
                        )
                        continue
                    under_way.append(one)
                    taken.append(one)
            self._next[place] = max(first, records[-1].offset + 1)
        return taken

    async def say(self, said: Sequence[Said]) -> Sequence[Taken]:
        """Reports, and how far all is done with, in one transaction; again until it is committed."""
        reports = [each for each in said if each.report is not None]
        generation, offsets = self._generation, self._done_with()
        self._saying = True
        while reports or offsets:
            try:
                await self._transactions.commit(reports, offsets)
                self._ownership.moved(offsets)
                break
            except (KafkaError, TimeoutError) as error:
                log.warning("reports did not get through, they are sent again: %r", error)
                await asyncio.sleep(_AGAIN_S)
            if generation != self._generation or not await self._is_member():
                offsets = {}  # they are another one's business now
        self._saying = False
        return ()

    async def _is_member(self) -> bool:
        """Is this executor one of the group's present generation, as its coordinator says? If not, it joins again."""
        coordinator = self._consumer._coordinator  # noqa: SLF001 - nobody else can say
        try:
            if await coordinator._do_heartbeat():  # noqa: SLF001
                return True
        except KafkaError as error:
            log.info("the group does not answer: %r", error)
        coordinator.request_rejoin()
        return False

    def _done_with(self) -> dict[TopicPartition, int]:
        """For each partition the first position that is not done with, where it has moved."""
        offsets: dict[TopicPartition, int] = {}
        for place, under_way in self._under_way.items():
            moved = False
            while under_way and (under_way[0].settled or under_way[0].leased):
                under_way.popleft()
                moved = True
            if moved:
                offsets[place] = under_way[0].offset if under_way else self._next[place]
        return offsets

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """They may go to another executor: finish what was taken from them, and say that they are free."""
        self._assigned.clear()
        if revoked:
            await self._hand_over({(place.topic, place.partition) for place in revoked})
        self._generation += 1
        self._under_way = {}
        self._next = {}
        if self._saying:  # positions are on their way still: the next owner has to fence this one
            return
        try:
            await self._ownership.release(self._consumer)
        except KafkaError as error:
            log.info("the next owner has to fence this one: %r", error)

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """They are this executor's, once their former owners can commit nothing more."""
        for tries in range(_TRIES):
            try:
                self._next = await self._ownership.claim(self._consumer, assigned, self._transactions.id)
                break
            except KafkaError as error:
                log.warning("the partitions could not be claimed: %r", error)
                await asyncio.sleep(_AGAIN_S * (tries + 1))
                self._failure = failed(self._kafka, error) if tries + 1 == _TRIES else None
        self._under_way = {place: deque() for place in assigned}
        self._assigned.set()
        names = ", ".join(f"{place.topic}/{place.partition}" for place in sorted(assigned))
        log.info("executes %s", names or "nothing")

    async def close(self) -> None:
        """Leave the group."""
        with suppress(KafkaError):
            await self._ownership.release(self._consumer)
        await self._consumer.stop()
        await self._transactions.close()
        await self._ownership.close()
