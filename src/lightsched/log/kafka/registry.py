"""Who owns what? Every node says so on the topic `nodes`, whenever it changes and every few seconds.

It is a hint for routing requests, nothing more: what a node may write, the fence decides. The answer to each heartbeat
also says what time it is at the broker.

What all nodes must agree on (the rules of tenants) is on the same topic, under keys of its own. A node begins when it
has heard all of it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from time import monotonic

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from msgspec import structs

from lightsched.errors import LightschedError
from lightsched.event.record import Record
from lightsched.log.errors import NotAppended
from lightsched.log.kafka.appending import Appending
from lightsched.log.kafka.clients import reader
from lightsched.log.kafka.connection import Connection
from lightsched.log.peer import Peer

log = logging.getLogger(__name__)

HEARTBEAT_S = 2.0
_FRESH_S = 1.0
"""An answer that took longer may have waited anywhere: the time in it is of no use."""
SILENT_S = 10.0
"""A node that has not been heard of for so long is not asked any more."""
_SHARED = b"shared/"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Peer).decode


class Registry:
    """This node's word, and that of the others."""

    def __init__(
        self,
        connection: Connection,
        topic: str,
        append: Callable[[Record], Awaitable[Appending]],
        on_time: Callable[[int], None],
    ) -> None:
        """`append` puts a record on the topic; `on_time` is told the broker's time in ms."""
        self._on_time = on_time
        self._place = TopicPartition(topic, 0)
        self._append = append
        self._consumer: AIOKafkaConsumer = reader(connection, "registry", auto_offset_reset="earliest")
        self._peers: dict[str, tuple[Peer, float]] = {}
        self._own: Callable[[], Peer | None] = lambda: None
        self._tasks: list[asyncio.Task[None]] = []
        self._say_now = asyncio.Event()
        self._told: Callable[[str, bytes | None], None] = lambda _key, _value: None
        self._next = 0  # offset that was not heard yet
        self._hearing = asyncio.Event()
        self._caught_up = asyncio.Event()
        self._end = 0  # of the topic, when this node began to listen
        self.broker_ms: tuple[int, float] | None = None  # the broker's time, and when it was told (monotonic)

    async def start(self, own: Callable[[], Peer | None]) -> None:
        """Listen until all was heard that there is, and say from now on what `own` returns."""
        self._own = own
        await self._consumer.start()
        self._consumer.assign([self._place])
        await self._consumer.seek_to_beginning(self._place)
        self._end = (await self._consumer.end_offsets([self._place]))[self._place]
        self._tasks = [
            asyncio.create_task(_forever("read", self._listen)),
            asyncio.create_task(_forever("written", self._speak)),
        ]
        await self._caught_up.wait()

    def watch(self, told: Callable[[str, bytes | None], None]) -> None:
        """Say what nodes share, whenever it is heard. Called before `start`."""
        self._told = told

    async def share(self, key: str, value: bytes | None) -> None:
        """Let all nodes know something, and wait until this one has heard it."""
        said = await self._append(Record(_SHARED + key.encode(), value))
        try:
            async with asyncio.timeout(SILENT_S):
                while self._next <= said.first:
                    self._hearing.clear()
                    await self._hearing.wait()
        except TimeoutError:
            raise NotAppended(topic=self._place.topic, why="it was not heard back in time") from None

    def changed(self) -> None:
        """Something has changed here: say so at once."""
        self._say_now.set()

    def peers(self) -> list[Peer]:
        """The nodes that were heard of lately, this one included."""
        now = monotonic()
        return [peer for peer, heard in self._peers.values() if now - heard < SILENT_S]

    async def close(self) -> None:
        """Say that this node owns nothing any more, and stop listening."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._tasks and (own := self._own()) is not None:
            with contextlib.suppress(KafkaError, LightschedError, TimeoutError):
                async with asyncio.timeout(1):
                    await self._append(Record(own.id.encode(), None))
        await self._consumer.stop()

    async def _listen(self) -> None:
        if await self._consumer.position(self._place) >= self._end:
            self._caught_up.set()
        found = await self._consumer.getmany(timeout_ms=1_000)
        try:
            for record in (record for records in found.values() for record in records):
                self._next = record.offset + 1
                self._hear(record.key, record.value, record.timestamp)
        except Exception:
            self._consumer.seek(self._place, self._next)  # the others are heard all the same
            raise
        finally:
            self._hearing.set()

    def _hear(self, key: bytes | None, value: bytes | None, timestamp_ms: int) -> None:
        id_ = (key or b"").decode(errors="replace")
        if key is not None and key.startswith(_SHARED):
            self._told(id_[len(_SHARED) :], value)
            return
        if value is None:
            self._peers.pop(id_, None)
            return
        try:
            peer = structs.replace(_decode(value), heard_ms=timestamp_ms)
        except msgspec.DecodeError:
            return  # of a version that says other things
        old = self.broker_ms is None or timestamp_ms < self._broker_now_ms() - SILENT_S * 1000
        if not old:
            self._peers[id_] = peer, monotonic()

    def _broker_now_ms(self) -> int:
        assert self.broker_ms is not None
        told_ms, at = self.broker_ms
        return told_ms + int((monotonic() - at) * 1000)

    async def _speak(self) -> None:
        own = self._own()
        if own is not None:
            began = monotonic()
            told_ms = (await self._append(Record(own.id.encode(), _encode(own)))).timestamp_ms
            if monotonic() - began < _FRESH_S:
                self.broker_ms = told_ms, monotonic()
                self._on_time(told_ms)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HEARTBEAT_S):
                await self._say_now.wait()
        self._say_now.clear()


async def _forever(what: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do it again and again, whatever goes wrong: a node that stops listening would know no others."""
    while True:
        try:
            await work()
        except (KafkaError, LightschedError) as error:
            log.warning("the registry cannot be %s: %r", what, error)
            await asyncio.sleep(HEARTBEAT_S)
        except Exception:
            log.exception("the registry cannot be %s, and is tried again", what)
            await asyncio.sleep(HEARTBEAT_S)
