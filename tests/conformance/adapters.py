"""How is each log opened by a test, how does its clock move, and how does it crash?"""

import asyncio
import contextlib
import time
from pathlib import Path
from uuid import uuid4

from aiokafka.admin import NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from lightsched.event.topics import DEFAULT
from lightsched.log.embedded.log import EmbeddedLog
from lightsched.log.kafka.clients import admin
from lightsched.log.kafka.connection import Connection, Group
from lightsched.log.kafka.log import KafkaLog
from tests.conformance.make import LONG_S, TOPICS

PARTITIONS = 3
DAY_MS = 86_400_000


class EmbeddedAdapter:
    """The embedded log in a directory of its own."""

    moment_s = 0.0
    """After this long what is there has been read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now_ms = self.began_ms = 1_800_000_000_000
        self.opened = []

    async def open(self, **options) -> EmbeddedLog:
        log = await EmbeddedLog.open(
            self.path, **{"partitions": PARTITIONS, "clock_ms": lambda: self.now_ms, **options}
        )
        self.opened.append(log)
        return log

    async def pass_ms(self, ms: int) -> None:
        """Let time pass for the log."""
        self.now_ms += ms

    async def crash(self, log: EmbeddedLog) -> None:
        """End it as kill -9 does."""
        log.abandon()

    async def close(self) -> None:
        for log in self.opened:
            log.abandon()


class KafkaAdapter:
    """A log on the broker that all tests share, with topics, group and directory of its own."""

    moment_s = 0.8  # longer than a broker holds an empty answer back

    def __init__(self, path: Path, bootstrap: str) -> None:
        TOPICS.prefix = f"test-{uuid4().hex[:8]}."
        self.path = path
        self.connection = Connection(bootstrap)
        self.group = Group(TOPICS.prefix + "group", session_timeout_ms=6_000)
        self.began_ms = self.now_ms
        self.opened = []
        self._created = False

    @property
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    async def open(self, *, at: str = "", **options) -> KafkaLog:
        """Open it, and wait until it is known which partitions are its own. `at`: another node, if there are some."""
        if not self._created:
            self._created = True
            await self.create(TOPICS.orders, TOPICS.others)
        log = await KafkaLog.open(
            self.connection,
            self.path.with_name(self.path.name + at),
            **{
                "partitions": PARTITIONS,
                "clock_ms": lambda: self.now_ms,
                "prefix": TOPICS.prefix,
                "retention_ms": DAY_MS,
                "group": self.group,
                **options,
            },
        )
        self.opened.append(log)
        async with asyncio.timeout(LONG_S):
            while not log.joined:
                await log.changed()
        return log

    async def create(self, *topics: str, partitions: int = PARTITIONS, replication: int = 1, **settings: str) -> None:
        """Make topics; a setting's dots are written as underscores."""
        new = [
            NewTopic(name, partitions, replication, topic_configs={k.replace("_", "."): v for k, v in settings.items()})
            for name in topics
        ]
        async with self.admin() as client:
            answer = await client.create_topics(new)
            assert all(code == 0 for _, code, *_ in answer.topic_errors), answer
            while any(each["error_code"] for each in await client.describe_topics(list(topics))):  # noqa: ASYNC110
                await asyncio.sleep(0.02)  # made, and not yet known to the broker

    async def alter(self, topic: str, **settings: str) -> None:
        """Change settings of a topic."""
        changed = {name.replace("_", "."): value for name, value in settings.items()}
        async with self.admin() as client:
            await client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, changed)])

    @contextlib.asynccontextmanager
    async def admin(self):
        client = admin(self.connection)
        await client.start()
        try:
            yield client
        finally:
            await client.close()

    async def pass_ms(self, ms: int) -> None:
        """The broker's clock is the real one."""
        await asyncio.sleep(ms / 1000)

    async def crash(self, log: KafkaLog) -> None:
        """Nothing is finished. What a dead process would no longer hold is let go of: its directory, its membership
        (which would last until the session times out). The clients stay as they are until the test is over.
        """
        await log._member.close()
        for taken in log._taken.values():
            taken._broken = True
            taken._local.close()

    async def close(self, *, tidy: bool = True) -> None:
        """`tidy`: the broker is there for others too."""
        for log in self.opened:
            for taken in list(log._taken.values()):
                await taken.close()
            await log.close()
        if tidy:
            async with self.admin() as client:
                topics = [name for name in await client.list_topics() if name.startswith(TOPICS.prefix)]
                await client.delete_topics(topics)
        TOPICS.prefix = DEFAULT.prefix
