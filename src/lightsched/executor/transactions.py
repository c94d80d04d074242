"""How do reports and positions get to Kafka? Together: all in one transaction, or none of them."""

import asyncio
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from time import time
from typing import Any
from uuid import uuid4

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from aiokafka.producer import sender
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.structs import OffsetAndMetadata

from lightsched.compression import compress_fast
from lightsched.executor.source import Said

compress_fast()
log = logging.getLogger(__name__)
sender.BACKOFF_OVERRIDE = 0.003  # instead of 20 ms, when a transaction follows the one before closely

TRANSACTION_MS = 10_000
_BATCH_BYTES = 512 * 1024
_CLOSE_S = 5.0


class Transactions:
    """The transactional producer of one executor."""

    def __init__(self, settings: Mapping[str, Any], name: str, reports: str, group: str) -> None:
        self._settings = settings
        self._reports = reports
        self._group = group
        self._producer: AIOKafkaProducer | None = None
        self.id = f"{name}-{uuid4().hex[:12]}"  # two executors of the same name do not get in each other's way

    async def start(self) -> AIOKafkaProducer:
        """Be ready to commit."""
        if self._producer is None:
            producer = AIOKafkaProducer(
                **{
                    "transactional_id": self.id,
                    "transaction_timeout_ms": TRANSACTION_MS,
                    "compression_type": "lz4",
                    "max_batch_size": _BATCH_BYTES,
                    "retry_backoff_ms": 50,
                    **self._settings,
                }
            )
            try:
                await producer.start()
            except BaseException:
                await producer.stop()
                raise
            self._producer = producer
        return self._producer

    async def commit(self, reports: Sequence[Said], offsets: Mapping[TopicPartition, int]) -> None:
        """Commit reports and positions. What failed is finished or aborted by the next try, which begins anew."""
        producer = await self.start()
        try:
            async with asyncio.timeout(TRANSACTION_MS / 1000):
                known = await producer.partitions_for(self._reports) if reports else ()
                await producer.begin_transaction()
                sent = [
                    await producer.send_batch(batch, self._reports, partition=partition)
                    for partition, batch in _batches(producer, [each for each in reports if _has_home(each, known)])
                ]
                if offsets:
                    marked = {place: OffsetAndMetadata(offset, self.id) for place, offset in offsets.items()}
                    await producer.send_offsets_to_transaction(marked, self._group)
                await asyncio.gather(*sent)
                await producer.commit_transaction()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Let go of the connections."""
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaError, TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await producer.stop()


def _has_home(said: Said, known: Collection[int]) -> bool:
    """Is there somebody to report to? Anybody may write a delivery that came from nowhere."""
    if said.taken.home in known:
        return True
    log.warning("%s: there is no partition %d to report to", said.taken.name, said.taken.home)
    return False


def _batches(producer: AIOKafkaProducer, reports: Sequence[Said]) -> Iterator[tuple[int, BatchBuilder]]:
    """The reports in as many batches as it takes, each for the partition that the delivery came from."""
    now_ms = int(time() * 1000)
    batches: dict[int, BatchBuilder] = {}
    for taken, report in reports:
        partition = taken.home
        batch = batches.get(partition)
        if batch is None:
            batch = batches[partition] = producer.create_batch()
        if batch.append(timestamp=now_ms, key=taken.key, value=report, headers=[]) is None:
            batch.close()
            yield partition, batch
            batch = batches[partition] = producer.create_batch()
            batch.append(timestamp=now_ms, key=taken.key, value=report, headers=[])
    for partition, batch in batches.items():
        batch.close()
        yield partition, batch
