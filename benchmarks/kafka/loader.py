"""How does a load appear all at once? It is written in one transaction, which nobody sees before it is committed.

So producing costs none of the time that is measured, and the contestants, warm and waiting, all begin at the same
point. Every event is written to the partition that lightsched and Java's partitioner both compute for its id.
"""

import asyncio
from collections.abc import Iterable

from aiokafka import AIOKafkaProducer
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.structs import RecordMetadata

from lightsched.event.murmur2 import murmur2
from lightsched.event.record import Record

BATCH_BYTES = 256 * 1024
UNDER_WAY = 32
HIDDEN_FOR_MS = 600_000


class Loader:
    """Writes loads to a topic, one after the other."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.topic = topic
        self.total = 0  # events written so far
        self.ends = dict.fromkeys(range(partitions), 0)  # partition → the offset after its last event
        self._producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            transactional_id=f"{topic}-loader",
            transaction_timeout_ms=HIDDEN_FOR_MS,
            compression_type="lz4",
            max_batch_size=BATCH_BYTES,
        )
        self._sent: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        await self._producer.start()

    async def stop(self) -> None:
        await self._producer.stop()

    async def hide(self, events: Iterable[tuple[bytes, bytes]]) -> None:
        """Write events (id, JSON), to be seen after `reveal`."""
        placed = (((murmur2(id_) & 0x7FFFFFFF) % len(self.ends), Record(id_, line)) for id_, line in events)
        await self.hide_records(placed)

    async def hide_records(self, placed: Iterable[tuple[int, Record]]) -> None:
        """Write records, each to its partition, to be seen after `reveal`."""
        await self._producer.begin_transaction()
        filling = {partition: self._producer.create_batch() for partition in self.ends}
        for partition, record in placed:
            given = {"key": record.key, "value": record.value, "headers": list(record.headers)}
            if filling[partition].append(timestamp=None, **given) is None:
                await self._send(partition, filling[partition])
                filling[partition] = self._producer.create_batch()
                filling[partition].append(timestamp=None, **given)
            self.total += 1
        for partition, batch in filling.items():
            await self._send(partition, batch)
        await asyncio.gather(*self._sent)

    async def reveal(self) -> None:
        """All of it, now."""
        await self._producer.commit_transaction()

    async def _send(self, partition: int, batch: BatchBuilder) -> None:
        batch.close()
        count = batch.record_count()
        if not count:
            return
        if len(self._sent) >= UNDER_WAY:
            _, self._sent = await asyncio.wait(self._sent, return_when=asyncio.FIRST_COMPLETED)
        written = await self._producer.send_batch(batch, self.topic, partition=partition)
        self._sent.add(asyncio.create_task(self._note(partition, written, count)))

    async def _note(self, partition: int, written: asyncio.Future[RecordMetadata], count: int) -> None:
        self.ends[partition] = max(self.ends[partition], (await written).offset + count)
