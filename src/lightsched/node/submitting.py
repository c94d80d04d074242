"""How do commands and reports get to the workers? Each to its partition, here or at another node, and back comes what
became of it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TypeVar

from lightsched.engine.step import Answer
from lightsched.errors import LightschedError
from lightsched.event.record import Record
from lightsched.event.status import Outcome
from lightsched.log.peer import Peer
from lightsched.log.port import Log
from lightsched.node.answers import Answers, NotAnswered
from lightsched.node.peers import NotSent, Peers
from lightsched.node.worker import Worker

log = logging.getLogger(__name__)

T = TypeVar("T")


class PartitionLost(LightschedError):
    """Partition {partition} has stopped before the outcome was known: ask for the event to see what became of it."""


class NodeStopped(LightschedError):
    """This node is stopping: try again in a moment."""


class Submitting:
    """The way in, for all partitions."""

    def __init__(self, log_: Log, workers: Mapping[int, Worker], answers: Answers, peers: Peers) -> None:
        """`workers`: those that are here, at any time."""
        self.stopping = False
        self._log = log_
        self._workers = workers
        self._answers = answers
        self._peers = peers

    def stop(self) -> None:
        """Take nothing more; who still waits is told."""
        self.stopping = True
        for number in range(self._log.partitions):
            self._answers.fail(number, NodeStopped())

    async def submit(self, topic: str, placed: Sequence[tuple[int, Record]]) -> list[Answer]:
        """Append commands or reports, each to its partition, and wait for their outcomes; the order is kept."""
        answers = []
        for answer in await self.submit_each(topic, placed):
            if isinstance(answer, LightschedError):
                raise answer
            answers.append(answer)
        return answers

    async def submit_each(self, topic: str, placed: Sequence[tuple[int, Record]]) -> list[Answer | LightschedError]:
        """As `submit`, but where a partition fails, only what was for it has the error instead of an answer."""
        self._check()
        return await self._each(placed, lambda partition, records: self._outcomes(topic, partition, records))

    async def leave(self, topic: str, placed: Sequence[tuple[int, Record]]) -> list[LightschedError | None]:
        """Append commands, each to its partition, only until they are durable; what could not be has the error."""

        async def append(partition: int, records: list[Record]) -> list[None]:
            await self._log.append(topic, partition, records)
            return [None] * len(records)

        self._check()
        return await self._each(placed, append)

    def _check(self) -> None:
        if self.stopping:
            raise NodeStopped

    async def _each(
        self, placed: Sequence[tuple[int, Record]], send: Callable[[int, list[Record]], Awaitable[list[T]]]
    ) -> list[T | LightschedError]:
        """Send records by partition; what came of each, in their order."""
        if len({partition for partition, _ in placed}) == 1:
            return await _or_error(send(placed[0][0], [record for _, record in placed]), len(placed))
        by_partition: dict[int, list[int]] = {}
        for index, (partition, _) in enumerate(placed):
            by_partition.setdefault(partition, []).append(index)
        sending = [
            _or_error(send(partition, [placed[index][1] for index in indexes]), len(indexes))
            for partition, indexes in by_partition.items()
        ]
        found = await asyncio.gather(*sending)
        by_index: dict[int, T | LightschedError] = {}
        for indexes, some in zip(by_partition.values(), found, strict=True):
            by_index.update(zip(indexes, some, strict=True))
        return [by_index[index] for index in range(len(placed))]

    async def submit_all(self, topic: str, placed: Sequence[tuple[int, Record]]) -> list[Answer | LightschedError]:
        """As `submit_each`, but all of it is appended or nothing. What becomes of each is decided in its partition; of
        those that are another node's, no more is known here than that they are on their way.
        """
        self._check()
        records: dict[int, list[Record]] = {}
        for number, record in placed:
            records.setdefault(number, []).append(record)
        workers = {number: self._workers.get(number) for number in records}
        answered: dict[int, asyncio.Future[list[Answer]]] = {}
        with ExitStack() as appending:
            for number in records:
                appending.enter_context(self._answers.appending(topic, number))
            firsts = await self._log.append_all(topic, records)
            for number, worker in workers.items():
                if worker is not None and self._workers.get(number) is worker:
                    answered[number] = self._answers.expect(topic, number, firsts[number], len(records[number]))
        return await self._each(
            placed, lambda number, some: _hear(topic, answered.get(number), firsts[number], len(some))
        )

    async def _outcomes(self, topic: str, partition: int, records: list[Record]) -> list[Answer]:
        """From the worker here, or from the node whose partition it is."""
        worker = self._workers.get(partition)
        if worker is None and self._log.keeps_submitted:
            return await self._ask(topic, partition, records)
        with self._answers.appending(topic, partition):
            first = await self._log.submit(topic, partition, records)
            answered = self._answers.expect(topic, partition, first, len(records))
        if self._workers.get(partition) is not worker and not answered.done():
            answered.set_exception(PartitionLost(partition=partition))  # nobody will answer for the one that has gone
        return await (_hear(topic, answered, first, len(records)) if self._log.keeps_submitted else answered)

    async def _ask(self, topic: str, partition: int, records: list[Record]) -> list[Answer]:
        """Another node's partition: ask it; if there is none to ask, leave the records on the topic for it."""
        peer = self.owner_of(partition)
        if peer is not None:
            try:
                return await self._peers.submit(peer, topic, [(partition, record) for record in records])
            except NotSent:
                log.info("partition %d: its owner %s was not reached, left on the topic", partition, peer.id)
        first = await self._log.append(topic, partition, records)
        return _forwarded(topic, first, len(records))

    def owner_of(self, partition: int) -> Peer | None:
        """The other node that runs a partition, if one has said so."""
        owners = [peer for peer in self._log.peers if partition in peer.partitions and peer.url]
        return max(owners, key=lambda peer: peer.heard_ms, default=None)


async def _or_error(sending: Awaitable[list[T]], count: int) -> list[T | LightschedError]:
    """What comes of so many records; if it fails, the error for each of them."""
    try:
        return [*await sending]
    except LightschedError as error:
        return [error] * count


async def _hear(topic: str, answered: "asyncio.Future[list[Answer]] | None", first: int, count: int) -> list[Answer]:
    """The outcomes of what is durable; where they will not be known here: on its way, whoever owns the partition
    carries it out.
    """
    try:
        if answered is not None:
            return await answered
    except (PartitionLost, NotAnswered, NodeStopped) as error:
        log.info("%d records at %d of %s are on their way: %s", count, first, topic, error)
    return _forwarded(topic, first, count)


def _forwarded(topic: str, first: int, count: int) -> list[Answer]:
    """Durable, and on their way: what comes of them is not known here."""
    return [Answer(topic, offset, Outcome.FORWARDED) for offset in range(first, first + count)]
