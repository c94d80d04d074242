"""Who executes? A program with a function that does nothing, and bare aiokafka that sends the same bytes.

`python -m benchmarks.kafka.executing sdk|bare <bootstrap> <prefix>` prints READY when it reads.
"""

import asyncio
import sys

import uvloop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.producer import sender

from lightsched import Executor
from lightsched.client import Kafka
from lightsched.event.topics import Topics
from lightsched.node.garbage import collect_seldom

AT_ONCE = 2_000
BATCH_BYTES = 512 * 1024
REPORT = b'{"delivery":"%b","token":"%b","status":"SUCCESS","executor":"bench"}'

sender.BACKOFF_OVERRIDE = 0.003  # as lightsched: instead of 20 ms, when a transaction follows the one before closely


async def sdk(bootstrap: str, prefix: str) -> None:
    """What users write."""
    executor = Executor(Kafka(bootstrap, prefix), group=f"{prefix}bench", name="bench", concurrency=1_000)

    @executor.on("*")
    async def nothing() -> None:
        pass

    print("READY", flush=True)
    await executor.run()


async def bare(bootstrap: str, prefix: str) -> None:
    """The limit: no types, no order, no heartbeats, no functions."""
    topics = Topics(prefix)
    group = f"{prefix}bench"
    consumer = AIOKafkaConsumer(
        topics.deliveries,
        bootstrap_servers=bootstrap,
        group_id=group,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        transactional_id=group,
        compression_type="lz4",
        max_batch_size=BATCH_BYTES,
    )
    await consumer.start()
    await producer.start()
    print("READY", flush=True)
    while True:
        found = await consumer.getmany(timeout_ms=1_000, max_records=AT_ONCE)
        if not found:
            continue
        await producer.begin_transaction()
        sent = []
        for place, records in found.items():
            batch = producer.create_batch()
            for record in records:
                headers = dict(record.headers)
                report = REPORT % (headers["ce_id"], headers["ls_report"])
                if batch.append(timestamp=None, key=record.key, value=report, headers=[]) is None:
                    sent.append(await producer.send_batch(batch, topics.reports, partition=place.partition))
                    batch = producer.create_batch()
                    batch.append(timestamp=None, key=record.key, value=report, headers=[])
            sent.append(await producer.send_batch(batch, topics.reports, partition=place.partition))
        await asyncio.gather(*sent)
        positions = {place: records[-1].offset + 1 for place, records in found.items()}
        await producer.send_offsets_to_transaction(positions, group)
        await producer.commit_transaction()


if __name__ == "__main__":
    collect_seldom()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run({"sdk": sdk, "bare": bare}[sys.argv[1]](*sys.argv[2:]))
