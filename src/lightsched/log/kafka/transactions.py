"""How is a step committed? In one transaction of one producer, which is the only one of its name.

Starting it fences every earlier producer with the same transactional id, and finishes what that one has left open. One
record batch for every place is handed over before the first is sent, so that a step is three requests: the partitions,
the batches, the end. Where a place gets more than one, aiokafka waits until the one before is sent: so the second ones
follow when all places are known. Every batch's own future is looked at before the commit: aiokafka would commit without
one that failed.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import (
    InvalidTopicError,
    KafkaError,
    MessageSizeTooLargeError,
    OutOfOrderSequenceNumber,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from aiokafka.producer import sender
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.producer.transaction_manager import TransactionState
from aiokafka.structs import RecordMetadata

from lightsched.event.record import Record
from lightsched.log.errors import Fenced, StepRefused
from lightsched.log.kafka.clients import BATCH_BYTES, stop_producer, transactional
from lightsched.log.kafka.connection import Connection
from lightsched.log.kafka.directory import room_in, size_of
from lightsched.log.kafka.errors import OutcomeUnknown
from lightsched.log.port import Place

sender.BACKOFF_OVERRIDE = 0.003  # instead of 20 ms, when a transaction follows the one before closely

_UNDELIVERABLE = (
    InvalidTopicError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)


class BadTopic(Exception):
    """A topic does not take what it was sent."""

    def __init__(self, topic: str, why: KafkaError) -> None:
        super().__init__(topic, why)
        self.topic = topic
        self.why = why
        self.too_large = isinstance(why, MessageSizeTooLargeError | RecordListTooLargeError)


class Transactions:
    """The transactional producer of one partition."""

    def __init__(self, connection: Connection, id: str, partition: int) -> None:
        self.partition = partition
        self._id = id
        self._timeout_s = connection.transaction_timeout_ms / 1000
        self._producer: AIOKafkaProducer = transactional(connection, id)

    async def start(self) -> None:
        """Become the only writer: whoever was it before can commit nothing more."""
        await self._producer.start()

    async def commit(
        self, placed: Mapping[Place, Sequence[Record]], now_ms: int, most_bytes: Callable[[str], int]
    ) -> dict[Place, int]:
        """Commit records, all or none; for each place the offset after its last record. `most_bytes`: of a batch.

        `BadTopic`, `StepRefused`: nothing was committed, and this producer can go on. `Fenced`, `OutcomeUnknown`: it
        cannot.
        """
        producer = self._producer
        try:
            async with asyncio.timeout(self._timeout_s):
                await producer.begin_transaction()
                ends, failure = await self._send(placed, now_ms, most_bytes)
        except TimeoutError:
            raise OutcomeUnknown(partition=self.partition, why="the brokers did not answer in time") from None
        except Exception as error:  # aiokafka has no common base for what a producer can no longer do
            raise Fenced(partition=self.partition, why=repr(error)) from error
        if isinstance(failure, OutOfOrderSequenceNumber):  # aiokafka counts on where nothing was written
            raise Fenced(partition=self.partition, why=repr(failure)) from failure
        if failure is not None:
            await self._abort(failure)
        await self._end()
        return ends

    async def _send(
        self, placed: Mapping[Place, Sequence[Record]], now_ms: int, most_bytes: Callable[[str], int]
    ) -> tuple[dict[Place, int], BadTopic | KafkaError | None]:
        sent: list[tuple[Place, BatchBuilder, asyncio.Future[RecordMetadata]]] = []
        # aiokafka counts a batch that was refused as written: the broker would refuse all that follow the gap.
        numbers = self._producer._txn_manager._sequence_numbers  # noqa: SLF001
        written = {place: numbers[TopicPartition(*place)] for place in placed}
        made = [self._batches(records, now_ms, most_bytes(topic)) for (topic, _), records in placed.items()]
        for batches in zip_longest(*made):  # the first of every place, then the second ones
            for place, batch in zip(placed, batches, strict=True):
                if batch is not None:
                    future = await self._producer.send_batch(batch, place[0], partition=place[1])
                    future.add_done_callback(_heard)
                    sent.append((place, batch, future))
        await asyncio.wait([future for _, _, future in sent])
        ends: dict[Place, int] = {}
        failure: BadTopic | KafkaError | None = None
        for place, batch, future in sent:
            error = future.exception()
            if error is None:
                ends[place] = future.result().offset + batch.record_count()
                written[place] += batch.record_count()
            elif isinstance(error, _UNDELIVERABLE):
                failure = BadTopic(place[0], error)
                numbers[TopicPartition(*place)] = written[place]
            elif isinstance(error, KafkaError):
                failure = failure or error
            else:
                raise error
        return ends, failure

    def _batches(self, records: Sequence[Record], now_ms: int, most_bytes: int) -> list[BatchBuilder]:
        """The records in as many batches as it takes."""
        made = []
        room = room_in(most_bytes)
        narrow = room < BATCH_BYTES
        batch = self._producer.create_batch()
        for record in records:
            headers = list(record.headers)
            if narrow and batch.record_count() and batch.size() + size_of(record) > room:
                batch.close()
            added = batch.append(timestamp=now_ms, key=record.key, value=record.value, headers=headers)
            if added is None:
                made.append(batch)
                batch = self._producer.create_batch()
                batch.append(timestamp=now_ms, key=record.key, value=record.value, headers=headers)
        batch.close()
        made.append(batch)
        return made

    async def _abort(self, failure: BadTopic | KafkaError) -> None:
        """Nothing of the step remains; the caller may make another.

        A producer that was refused a topic has forgotten which ones it had been given: aiokafka would abort nothing.
        """
        if self._producer._txn_manager.state is TransactionState.ABORTABLE_ERROR:  # noqa: SLF001
            raise Fenced(partition=self.partition, why=repr(failure)) from failure
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._producer.abort_transaction()
        except Exception as error:
            raise Fenced(partition=self.partition, why=f"{failure!r}, then {error!r} when aborting") from error
        if isinstance(failure, BadTopic):
            raise failure
        raise StepRefused(why=repr(failure)) from failure

    async def _end(self) -> None:
        """Commit. What went wrong here leaves the outcome open: it is never followed by an abort."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._producer.commit_transaction()
        except TimeoutError:
            raise OutcomeUnknown(partition=self.partition, why="the commit was not answered in time") from None
        except Exception as error:
            raise Fenced(partition=self.partition, why=repr(error)) from error

    async def close(self) -> None:
        """Let go of the connections. A transaction that is open is left to whoever takes the partition next."""
        _hear_all(self._producer)
        await stop_producer(self._producer, self._id)


def _hear_all(producer: AIOKafkaProducer) -> None:
    """A producer that was fenced leaves futures behind that failed and that nobody waits for."""
    waiters = [producer._txn_manager.wait_for_transaction_end()]  # noqa: SLF001 -- aiokafka lets go of them so
    for batches in producer._message_accumulator._batches.values():  # noqa: SLF001
        waiters += [batch._drain_waiter for batch in batches]  # noqa: SLF001
    for waiter in waiters:
        if waiter is not None and waiter.done():
            _heard(waiter)


def _heard(done: "asyncio.Future[RecordMetadata]") -> None:
    """What failed is known otherwise: asyncio need not complain that nobody has asked."""
    if not done.cancelled():
        done.exception()
