"""How are records appended to several partitions, all or none? In a transaction of this node's own.

Workers read what is committed, so they see all of it or nothing. One transaction at a time: it is for a few requests a
second. A transaction that stays open would hide all that follows it from the workers. So who gives up waiting leaves it
to go on alone, and the producer is made in the background at the start, and again after one that could not go on: that
finishes what was left open.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from aiokafka.errors import KafkaError

from lightsched.event.record import Record
from lightsched.log.errors import Fenced, NotAppended, StepRefused, TooLargeToAppend
from lightsched.log.kafka.clients import BATCH_BYTES
from lightsched.log.kafka.connection import Connection
from lightsched.log.kafka.directory import room_in, size_of
from lightsched.log.kafka.errors import OutcomeUnknown
from lightsched.log.kafka.transactions import BadTopic, Transactions
from lightsched.log.port import Place

log = logging.getLogger(__name__)

T = TypeVar("T")

_NO_PARTITION = -1


class AtomicAppender:
    """Appends of this node to many partitions at once."""

    def __init__(
        self, connection: Connection, id: str, most_bytes: Callable[[str], int], clock_ms: Callable[[], int]
    ) -> None:
        """`id`: of the transactions, no other node's. `most_bytes`: of a batch on a topic."""
        self._connection = connection
        self._id = id
        self._most_bytes = most_bytes
        self._clock_ms = clock_ms
        self._transactions: Transactions | None = None
        self._one_at_a_time = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self) -> None:
        """Finish what this node has left open before, in the background."""
        self._spawn(self._prepare())

    async def append(self, topic: str, placed: Mapping[int, Sequence[Record]]) -> dict[int, int]:
        """Append records to partitions of a topic, all or none; the offset of the first in each."""
        room = room_in(min(self._most_bytes(topic), BATCH_BYTES))  # one batch: its offsets have no gaps
        for records in placed.values():
            if (size := sum(map(size_of, records))) > room:
                raise TooLargeToAppend(topic=topic, bytes=size)
        by_place = {(topic, number): records for number, records in placed.items()}
        ends = await asyncio.shield(self._spawn(self._commit(topic, by_place)))
        return {number: ends[topic, number] - len(records) for number, records in placed.items()}

    async def _commit(self, topic: str, placed: Mapping[Place, Sequence[Record]]) -> dict[Place, int]:
        async with self._one_at_a_time:
            try:
                return await (await self._started()).commit(placed, self._clock_ms(), self._most_bytes)
            except (BadTopic, StepRefused) as error:
                raise NotAppended(topic=topic, why=repr(error)) from error
            except (Fenced, OutcomeUnknown) as error:
                await self._let_go()
                self.start()
                raise NotAppended(topic=topic, why=error) from error
            except BaseException:
                await self._let_go()
                raise

    async def _prepare(self) -> None:
        async with self._one_at_a_time:
            try:
                await self._started()
            except KafkaError as error:
                log.warning("what this node may have left open was not finished: %r", error)

    def _spawn(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _started(self) -> Transactions:
        if self._transactions is None:
            made = Transactions(self._connection, self._id, _NO_PARTITION)
            try:
                await made.start()
            except BaseException:
                await made.close()
                raise
            self._transactions = made
        return self._transactions

    async def close(self) -> None:
        """Finish what is under way, and let go of the producer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._connection.request_timeout_ms / 1000):
                while self._tasks:
                    await asyncio.wait(self._tasks)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._let_go()

    async def _let_go(self) -> None:
        if self._transactions is not None:
            closing, self._transactions = self._transactions, None
            await closing.close()
