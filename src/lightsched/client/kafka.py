"""How does a client talk to Kafka? Commands and reports go to their topics, deliveries are read as a group.

A topic gives no answers: what was sent is durable when `send` returns, and its outcome is on the audit topic. Since
nobody would say what is wrong with an event, it is checked here, by the contract's own limits. The producer is
idempotent, so what is sent again by it is not there twice; a transaction is one of Kafka's.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from uuid import uuid4

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from lightsched.client.checking import problems_of
from lightsched.client.errors import (
    Invalid,
    NotOnKafka,
    OutcomeUnknown,
    ProblemDetails,
)
from lightsched.client.fields import Prepared
from lightsched.client.kafka_place import Kafka
from lightsched.client.kafka_topics import check_exists, failed
from lightsched.client.records import delivery_of
from lightsched.client.results import Delivery, Result
from lightsched.client.transport import Reading
from lightsched.compression import compress_fast
from lightsched.event.command import WHO
from lightsched.event.delivery import parse_delivery_id
from lightsched.event.limits import Limits
from lightsched.event.status import Outcome
from lightsched.event.topics import Topics
from lightsched.odd_headers import read_any_name

T = TypeVar("T")
_HEADERS = [(WHO, b"client")]
_POLL_MS = 1_000


class KafkaTransport:
    """A client's way to the topics."""

    def __init__(self, kafka: Kafka, timeout_s: float) -> None:
        self._kafka = kafka
        self._topics = Topics(kafka.prefix)
        self._limits = Limits(names=self._topics)
        self._common = {
            "bootstrap_servers": kafka.bootstrap,
            "request_timeout_ms": int(timeout_s * 1000),
            **kafka.settings,
        }
        self._starting = asyncio.Lock()
        self._one_transaction = asyncio.Lock()
        self._producer: AIOKafkaProducer | None = None
        self._transactional: AIOKafkaProducer | None = None

    async def command(self, command: Prepared) -> Result:
        """Append one command, once it is checked."""
        (result,) = await self.send([command])
        if result.errors:
            problem = ProblemDetails(detail=result.error, errors=result.errors, outcome=Outcome.INVALID)
            raise Invalid(problem)
        return result

    async def send(self, commands: Sequence[Prepared], once: str = "") -> list[Result]:
        """Append those that make sense."""
        if once:
            raise NotOnKafka("Kafka does not remember what was sent under a name: send it in a transaction.")
        results = [self._checked(index, command) for index, command in enumerate(commands)]
        good = [command for command, result in zip(commands, results, strict=True) if result.ok]
        producer = await self._started()
        try:
            await self._append(producer, good)
        except KafkaError as error:
            raise failed(self._kafka, error) from error
        return results

    async def send_together(self, commands: Sequence[Prepared]) -> list[Result]:
        """Append all in one transaction of Kafka.

        1. Nothing is sent unless everything makes sense.
        2. An error before the commit aborts: none.
        3. An error of the commit itself leaves it open whether it was all or none.
        """
        results = [self._checked(index, command) for index, command in enumerate(commands)]
        if bad := [result for result in results if not result.ok]:
            errors = tuple(error for result in bad for error in result.errors)
            detail = "; ".join(f"number {result.index}: {result.error}" for result in bad)
            raise Invalid(ProblemDetails(detail=f"Nothing was sent: {detail}", errors=errors, outcome=Outcome.INVALID))
        async with self._one_transaction:
            producer = await self._started_transactional()
            try:
                await producer.begin_transaction()
                await self._append(producer, commands)
            except KafkaError as error:
                with suppress(KafkaError):
                    await producer.abort_transaction()
                raise failed(self._kafka, error) from error
            try:
                await producer.commit_transaction()
            except KafkaError as error:
                self._transactional = None
                await producer.stop()
                why = f"The transaction may be committed or not ({error!r}): look at the events first."
                raise OutcomeUnknown(why) from error
        return results

    async def deliveries(self, reading: Reading) -> AsyncGenerator[list[Delivery]]:
        """Read as a member of a consumer group, or as nobody's; what is committed only."""
        topic = self._topics.deliveries if reading.topic == "deliveries" else reading.topic
        await self._exists(topic)
        consumer = AIOKafkaConsumer(
            topic,
            group_id=reading.group,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="latest" if reading.group is None else "earliest",
            **self._common,
        )
        read_any_name()
        now_s = asyncio.get_running_loop().time
        try:
            await consumer.start()
            heard_s, seen = now_s(), 0
            while most := reading.next_most(seen):
                found = await consumer.getmany(timeout_ms=_POLL_MS, max_records=most)
                records = [record for some in found.values() for record in some]
                if records:
                    seen += len(records)
                    yield [delivery_of(record) for record in records]
                    heard_s = now_s()
                if records and reading.group is not None:
                    with suppress(CommitFailedError, IllegalStateError):  # another reader gets them again
                        await consumer.commit({place: some[-1].offset + 1 for place, some in found.items()})
                elif reading.idle_s is not None and consumer.assignment() and now_s() - heard_s >= reading.idle_s:
                    return
        except KafkaError as error:
            raise failed(self._kafka, error) from error
        finally:
            await consumer.stop()

    async def report(self, delivery: str, body: bytes) -> None:
        """Append a report, to the partition that the delivery came from."""
        name = parse_delivery_id(delivery)
        if name is None:
            raise Invalid(f"{delivery!r} is no delivery's id: report on it as it came.")
        producer = await self._started()
        try:
            await producer.send_and_wait(
                self._topics.reports, body, name.identity.split(b"\0")[1], name.partition, headers=_HEADERS
            )
        except KafkaError as error:
            raise failed(self._kafka, error) from error

    async def ask(
        self,
        path: str,
        shape: type[T],  # noqa: ARG002
        query: Mapping[str, Any] | None = None,  # noqa: ARG002
        *,
        method: str = "GET",
        body: bytes = b"",  # noqa: ARG002
        headers: Mapping[str, str] | None = None,  # noqa: ARG002
        repeatable: bool = True,  # noqa: ARG002
    ) -> T:
        """A topic has no answers."""
        raise NotOnKafka(f"Kafka has no answer to {method} {path}: ask a server, with Client('http://…').")

    async def close(self) -> None:
        """Send what is left, and close."""
        for producer in (self._producer, self._transactional):
            if producer is not None:
                await producer.stop()
        self._producer = self._transactional = None

    def _checked(self, index: int, command: Prepared) -> Result:
        if problems := problems_of(command.body, self._limits):
            error = "; ".join(map(str, problems))
            return Result(index=index, outcome=Outcome.INVALID, error=error, errors=problems)
        return Result(id=command.id, tenant=command.tenant)

    async def _append(self, producer: AIOKafkaProducer, commands: Sequence[Prepared]) -> None:
        sent = [
            await producer.send(
                self._topics.events, command.body, (command.key or command.id).encode(), headers=_HEADERS
            )
            for command in commands
        ]
        await asyncio.gather(*sent)

    async def _started(self) -> AIOKafkaProducer:
        async with self._starting:
            if self._producer is None:
                await self._exists(self._topics.events)
                self._producer = await self._start(enable_idempotence=True)
        return self._producer

    async def _started_transactional(self) -> AIOKafkaProducer:
        if self._transactional is None:
            await self._exists(self._topics.events)
            self._transactional = await self._start(transactional_id=f"{self._kafka.prefix}client-{uuid4().hex}")
        return self._transactional

    async def _start(self, **options: Any) -> AIOKafkaProducer:
        compress_fast()
        producer = AIOKafkaProducer(compression_type="lz4", linger_ms=5, **options, **self._common)
        try:
            await producer.start()
        except KafkaError as error:
            await producer.stop()
            raise failed(self._kafka, error) from error
        return producer

    async def _exists(self, topic: str) -> None:
        await check_exists(self._kafka, self._common, topic)
