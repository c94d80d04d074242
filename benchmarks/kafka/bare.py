"""What is the limit? aiokafka alone, doing the least that an exactly-once scheduler does.

Every event that is read is written to a changelog, every event that is due is written to the deliveries, with the
positions in the same transaction; in between they are in a heap in memory. A few workers in one process, so that one
has something to do while another waits for the broker. No store, no restart, no JSON, no cancel, no status, no audit.

`python -m benchmarks.kafka.bare <bootstrap> <prefix> <partitions>` prints READY when it runs.
"""

import asyncio
import sys
import time
from heapq import heappop, heappush

import uvloop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.producer import sender

from lightsched.event.topics import Topics
from lightsched.node.garbage import collect_seldom

WORKERS = 2
AT_ONCE = 2_000
BATCH_BYTES = 512 * 1024
IDLE_MS = 100

sender.BACKOFF_OVERRIDE = 0.003  # as lightsched: instead of 20 ms, when a transaction follows the one before closely

Records = dict[tuple[str, int], list[tuple[bytes, bytes, list[tuple[str, bytes]]]]]


def group(prefix: str) -> str:
    """The group whose offsets say how far it has read."""
    return f"{prefix}bare"


async def run(bootstrap: str, prefix: str, partitions: int) -> None:
    clients = [await start(bootstrap, prefix, range(number, partitions, WORKERS)) for number in range(WORKERS)]
    print("READY", flush=True)
    await asyncio.gather(*(work(consumer, producer, prefix) for consumer, producer in clients))


async def start(bootstrap: str, prefix: str, partitions: range) -> tuple[AIOKafkaConsumer, AIOKafkaProducer]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        transactional_id=f"{prefix}bare-{partitions.start}",
        compression_type="lz4",
        max_batch_size=BATCH_BYTES,
    )
    consumer.assign([TopicPartition(Topics(prefix).events, number) for number in partitions])
    await consumer.start()
    await producer.start()
    return consumer, producer


async def work(consumer: AIOKafkaConsumer, producer: AIOKafkaProducer, prefix: str) -> None:
    topics = Topics(prefix)
    pending: list[tuple[int, int, bytes, bytes]] = []  # due, partition, id, event
    while True:
        now_ms = time.time_ns() // 1_000_000
        wait_ms = min(max(pending[0][0] - now_ms, 0), IDLE_MS) if pending else IDLE_MS
        found = await consumer.getmany(timeout_ms=wait_ms, max_records=AT_ONCE)
        records: Records = {}
        for place, read in found.items():
            changes = records.setdefault((topics.changelog, place.partition), [])
            for record in read:
                heappush(pending, (due_ms(record.value), place.partition, record.key, record.value))
                changes.append((record.key, record.value, []))
        now_ms = time.time_ns() // 1_000_000
        for _ in range(AT_ONCE):
            if not pending or pending[0][0] > now_ms:
                break
            due, partition, id_, event = heappop(pending)
            headers = [("ls_id", id_), ("ls_due", b"%d" % due)]
            records.setdefault((topics.deliveries, partition), []).append((id_, event, headers))
        if records:
            await producer.begin_transaction()
            await send(producer, records)
            if found:
                positions = {place: read[-1].offset + 1 for place, read in found.items()}
                await producer.send_offsets_to_transaction(positions, group(prefix))
            await producer.commit_transaction()


async def send(producer: AIOKafkaProducer, records: Records) -> None:
    sent = []
    for (topic, partition), each in records.items():
        batch = producer.create_batch()
        for key, value, headers in each:
            if batch.append(timestamp=None, key=key, value=value, headers=headers) is None:
                sent.append(await producer.send_batch(batch, topic, partition=partition))
                batch = producer.create_batch()
                batch.append(timestamp=None, key=key, value=value, headers=headers)
        sent.append(await producer.send_batch(batch, topic, partition=partition))
    await asyncio.gather(*sent)


def due_ms(event: bytes) -> int:
    """The number after `"at":`, without looking at the rest."""
    start = event.index(b'"at":') + 5
    return int(event[start : event.index(b",", start)])


if __name__ == "__main__":
    collect_seldom()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(sys.argv[1], sys.argv[2], int(sys.argv[3])))
