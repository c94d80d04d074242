"""How do events get in through Kafka? A transaction per chunk, which commits the position together with the events.

The transactional id belongs to the directory: opening it ends whatever an earlier process has left open, and after that
the position that was committed last is known. It is kept as the offset of a consumer group without members: the offset
is the file's number, its metadata the place.
"""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from time import time_ns
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.codec import lz4_encode
from aiokafka.errors import KafkaError
from aiokafka.producer import sender
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.structs import OffsetAndMetadata

from lightsched.client import ClientError, NotFound, Unreachable
from lightsched.injector import WHO, Topics
from lightsched.reaching import NOT_REACHED, why_not_reached
from lightsched_files.alike import Alike
from lightsched_files.journal import Position
from lightsched_files.settings import KafkaSettings
from lightsched_files.taken import Good

Packed = list[tuple[int, Any]]
"""Batches, each with its partition."""
_HEADERS = [(WHO, b"files")]
_BATCH_BYTES = 256 * 1024
_CLOSE_S = 5.0

sender.BACKOFF_OVERRIDE = 0.003  # instead of 20 ms, when a transaction follows the one before closely
# aiokafka asks for level 9, which takes eight times as long for hardly a byte less.
sys.modules[DefaultRecordBatchBuilder.__module__].lz4_encode = partial(lz4_encode, level=1)  # type: ignore[attr-defined]


class Kafka:
    """Sends to the events topic."""

    announces = False
    most_events = 20_000
    most_bytes = 8 * 1024 * 1024

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._topic = Topics(settings.prefix).events
        self._timeout_s = settings.transaction_timeout / 1000
        self._common = {
            "bootstrap_servers": settings.bootstrap,
            "request_timeout_ms": settings.request_timeout,
            **settings.security.options(),
            **settings.client,
        }
        self._producer: AIOKafkaProducer | None = None
        self._partitions = 0
        self._group = ""
        self._alike = Alike()

    async def open(self, id: str) -> Position:
        """Become the only sender of this directory.

        1. Look for the topic: aiokafka would have it created.
        2. Start the producer. This ends what an earlier one has left open.
        3. Only then look for the position.
        """
        self._group = f"{self._settings.prefix}files-{id}"
        admin = AIOKafkaAdminClient(**self._common)
        try:
            async with asyncio.timeout(self._timeout_s):
                await admin.start()
                await self._look_for_topic(admin)
                await self._start()
                found = await admin.list_consumer_group_offsets(self._group)
        except NOT_REACHED as error:
            why = await why_not_reached(self._settings.bootstrap, self._common, error)
            raise Unreachable(f"Kafka cannot be reached at {self._settings.bootstrap}: {why}.") from error
        except (KafkaError, TimeoutError) as error:
            raise self._failed(error) from error
        finally:
            await admin.close()
        committed = found.get(TopicPartition(self._topic, 0))
        return Position() if committed is None else Position(committed.offset, int(committed.metadata))

    async def _look_for_topic(self, admin: AIOKafkaAdminClient) -> None:
        if self._topic not in await admin.list_topics():
            where = self._settings.bootstrap
            raise NotFound(f"There is no topic {self._topic} on {where}: create it (`lightsched topics create`).")
        (described,) = await admin.describe_topics([self._topic])
        self._partitions = len(described["partitions"])

    async def _start(self) -> None:
        self._producer = AIOKafkaProducer(
            transactional_id=self._group,
            transaction_timeout_ms=self._settings.transaction_timeout,
            compression_type="lz4",
            max_batch_size=_BATCH_BYTES,
            **self._common,
        )
        await self._producer.start()
        await self._producer.begin_transaction()  # the producer's id is there only now
        await self._producer.abort_transaction()

    def pack(self, events: Sequence[Good]) -> Packed:
        """By partition: with the key's own hash, so that nothing has to be forwarded."""
        assert self._producer is not None
        create, partitions, now_ms = self._producer.create_batch, self._partitions, time_ns() // 1_000_000
        murmur2 = self._alike.murmur2
        filling: dict[int, Any] = {}
        packed: Packed = []
        for good in events:
            event = good.event
            key = (event.key or event.id).encode()
            partition = (murmur2(key) & 0x7FFFFFFF) % partitions
            batch = filling.get(partition)
            if batch is None:
                batch = filling[partition] = create()
            if batch.append(timestamp=now_ms, key=key, value=event.body, headers=_HEADERS) is None:
                packed.append((partition, batch))
                batch = filling[partition] = create()
                batch.append(timestamp=now_ms, key=key, value=event.body, headers=_HEADERS)
        packed += filling.items()
        for _, batch in packed:
            batch.close()
        return packed

    async def send(self, packed: Packed, until: Position) -> list[tuple[int, str]]:
        """All in one transaction. After an error it is over with this producer: the next one sees how it ended."""
        producer = self._producer
        assert producer is not None
        position = {TopicPartition(self._topic, 0): OffsetAndMetadata(until.number, str(until.place))}
        try:
            async with asyncio.timeout(self._timeout_s):
                await producer.begin_transaction()
                sent = [await producer.send_batch(batch, self._topic, partition=number) for number, batch in packed]
                await asyncio.gather(*sent)
                await producer.send_offsets_to_transaction(position, self._group)
                await producer.commit_transaction()
        except (KafkaError, TimeoutError) as error:
            raise self._failed(error) from error
        return []

    async def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is None:
            return
        with suppress(KafkaError, TimeoutError):
            await asyncio.wait_for(producer.stop(), _CLOSE_S)

    def _failed(self, error: Exception) -> ClientError:
        why = str(error) or type(error).__name__
        return Unreachable(f"Kafka at {self._settings.bootstrap} does not do it: {why}.")
