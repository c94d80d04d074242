"""What do the clients do meanwhile? They send commands of every kind, act on deliveries and report on some."""

import asyncio
import contextlib
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from tests.chaos.kafka.recovery import Recovery
from tests.chaos.kafka.topics import NARROW_BYTES

TICK_S = 0.05
KEYS = 40
POISON = (
    b"not json",
    b"\xff\xfe",
    b"[]",
    b'{"id":"p","in":"-1s"}',
    b'{"id":"p","cron":"0 0 31 2 *"}',
    b'{"id":"p","x":1}',
    b'{"id":"p","in":"1s","priority":"high"}',
    b'{"id":"p","at":["tomorrow"]}',
    b'{"id":"p","in":"1s","payload":"\xff"}',
    None,
)
TOO_LARGE = json.dumps({"id": "p", "in": "1s", "payload": "x" * 300_000}).encode()
"""More than a payload may have."""


class Load:
    """Commands in, deliveries out, reports back."""

    def __init__(self, bootstrap: str, prefix: str, refusing: list[str], recovery: Recovery, seed: int) -> None:
        """`refusing`: topics that nothing can be delivered to."""
        self.bootstrap = bootstrap
        self.prefix = prefix
        self.partitions = recovery.partitions
        self.random = random.Random(seed)
        self.sent = Counter[str]()
        self.stopping = asyncio.Event()
        self._refusing = refusing
        self._recovery = recovery
        self._number = 0
        self._recent: list[tuple[str, str]] = []
        self._paused: list[tuple[str, str]] = []
        self._ever_paused: list[tuple[str, str]] = []

    async def send(self) -> None:
        """Send commands until told to stop. Every one arrives: an idempotent producer tries until it does."""
        async with self._producer() as producer:
            while not self.stopping.is_set():
                for _ in range(self.random.randrange(2, 12)):
                    await self._send_one(producer)
                await asyncio.sleep(TICK_S)

    async def resume(self) -> None:
        """Resume whatever was ever paused."""
        async with self._producer() as producer:
            for key, id_ in self._ever_paused:
                await self._put(producer, {"op": "resume", "id": id_, "key": key})

    @contextlib.asynccontextmanager
    async def _producer(self) -> AsyncIterator[AIOKafkaProducer]:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap, enable_idempotence=True, linger_ms=5, request_timeout_ms=120_000
        )
        await producer.start()
        try:
            yield producer
            await producer.flush()
        finally:
            await producer.stop()

    async def _send_one(self, producer: AIOKafkaProducer) -> None:
        rng = self.random
        self._number += 1
        number = self._number
        now_ms = int(time.time() * 1000)
        kind = rng.random()
        key = f"key-{rng.randrange(KEYS)}"
        if kind < 0.70:
            event = {"id": f"o{number}", "key": key, "at": now_ms + rng.randrange(100, 8_000), "payload": {"n": number}}
            if rng.random() < 0.2:
                event["priority"] = rng.randrange(10)
            self._recent = [*self._recent[-300:], (key, event["id"])]
        elif kind < 0.74:
            return await self._send(producer, None, TOO_LARGE if rng.random() < 0.02 else rng.choice(POISON), "poison")
        elif kind < 0.79 and self._recent:
            key, id_ = rng.choice(self._recent)
            event = {"op": "cancel", "id": id_, "key": key}
        elif kind < 0.84 and self._recent:
            key, id_ = rng.choice(self._recent)
            event = {"id": id_, "key": key, "at": now_ms + rng.randrange(1_000, 6_000), "payload": {"again": number}}
        elif kind < 0.86 and self._recent:
            paused = rng.choice(self._recent)
            self._paused.append(paused)
            self._ever_paused.append(paused)
            event = {"op": "pause", "id": paused[1], "key": paused[0]}
        elif kind < 0.89 and self._paused:
            paused = self._paused.pop(0)
            event = {"op": "resume", "id": paused[1], "key": paused[0]}
        elif kind < 0.93:
            event = {
                "id": f"t{number}",
                "key": key,
                "at": now_ms + rng.randrange(100, 4_000),
                "timeout": "3s",
                "retry": {"attempts": 3, "delay": "500ms", "jitter": 0},
                "payload": {"n": number},
            }
        elif kind < 0.95:
            event = {"id": f"e{number}", "key": key, "every": "1s", "max_runs": 5, "catch_up": "all", "look_back": "1h"}
        elif kind < 0.962:
            topics = [rng.choice(self._refusing), *([f"{self.prefix}deliveries"] if rng.random() < 0.5 else ())]
            event = {"id": f"u{number}", "key": key, "in": "1s", "topics": topics}
        elif kind < 0.97:
            large = rng.random() < 0.3
            payload = "x" * (2 * NARROW_BYTES if large else 1_000)
            id_ = f"{'u' if large else 'f'}{number}"
            event = {"id": id_, "key": key, "in": "1s", "topics": [f"{self.prefix}narrow"], "payload": payload}
        else:
            event = {
                "id": f"d{number}",
                "key": key,
                "in": "1s",
                "topics": [f"{self.prefix}other", f"{self.prefix}deliveries"],
            }
        return await self._put(producer, event)

    async def _put(self, producer: AIOKafkaProducer, event: dict) -> None:
        op = event.get("op", "schedule")
        await self._send(producer, event["key"].encode(), json.dumps(event).encode(), op)

    async def _send(self, producer: AIOKafkaProducer, key: bytes | None, value: bytes | None, what: str) -> None:
        """By the client's own partitioner, which is Java's; now and then by another, which knows nothing of homes."""
        other = self.random.randrange(self.partitions) if key is None or self.random.random() < 0.1 else None
        await producer.send(f"{self.prefix}events", value, key or b"?", partition=other)
        self.sent[what] += 1

    async def execute(self) -> None:
        """Report on what is tracked: mostly well, sometimes badly, sometimes not at all."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
        )
        await consumer.start()
        rng = random.Random(self.random.random())
        try:
            consumer.assign([TopicPartition(f"{self.prefix}deliveries", n) for n in range(self.partitions)])
            await self._report(consumer, rng)
        finally:
            await consumer.stop()

    async def _report(self, consumer: AIOKafkaConsumer, rng: random.Random) -> None:
        async with self._producer() as producer:
            while True:
                try:
                    found = await consumer.getmany(timeout_ms=200)
                except KafkaError:
                    await asyncio.sleep(0.2)
                    continue
                for record in (record for records in found.values() for record in records):
                    headers = dict(record.headers)
                    self._recovery.saw(record.partition, int(headers["ls_due"]), time.time_ns() // 1_000_000)
                    if headers["ls_id"].startswith(b"t") and (chance := rng.random()) > 0.1:
                        report = {
                            "delivery": headers["ce_id"].decode(),
                            "token": headers["ls_report"].decode(),
                            "status": "SUCCESS" if chance > 0.3 else "RETRIABLE_FAILURE",
                        }
                        await producer.send(
                            f"{self.prefix}reports", json.dumps(report).encode(), partition=int(headers["ls_partition"])
                        )
                        self.sent["report"] += 1
