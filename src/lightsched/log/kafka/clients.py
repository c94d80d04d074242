"""Which clients does a node have? Each kind with the settings that its task needs."""

import asyncio
import logging
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from lightsched.compression import compress_fast
from lightsched.event.record import Appended, Record
from lightsched.log.kafka.connection import Connection
from lightsched.log.kafka.errors import NothingFetched, Unreachable
from lightsched.odd_headers import read_any_name, without_null
from lightsched.reaching import why_not_reached

log = logging.getLogger(__name__)

BATCH_BYTES = 512 * 1024
"""Of one record batch, before compression; a record that is larger is a batch of its own."""
APPENDED_BYTES = 8 * 1024 * 1024
"""As above, of what is appended in one go: the broker looks at it compressed, and says whether it is too large."""
_NEVER_S = 3600.0
_STOP_S = 5.0

compress_fast()
read_any_name()


def admin(to: Connection) -> AIOKafkaAdminClient:
    """Looks at topics and makes them."""
    return AIOKafkaAdminClient(**_common(to, "admin"))


def appender(to: Connection) -> AIOKafkaProducer:
    """Appends commands and reports that came in by REST."""
    return AIOKafkaProducer(
        **_common(to, "appender"),
        enable_idempotence=True,
        compression_type=to.compression,
        max_batch_size=APPENDED_BYTES,
        **to.producer,
    )


def transactional(to: Connection, id: str) -> AIOKafkaProducer:
    """Writes a partition's steps."""
    return AIOKafkaProducer(
        **_common(to, id),
        transactional_id=id,
        transaction_timeout_ms=to.transaction_timeout_ms,
        compression_type=to.compression,
        max_batch_size=BATCH_BYTES,
        retry_backoff_ms=50,
        **to.producer,
    )


def reader(to: Connection, role: str, *, committed: bool = True, **more: Any) -> AIOKafkaConsumer:
    """Reads partitions that it is told to."""
    return AIOKafkaConsumer(
        **{
            **_common(to, role),
            "isolation_level": "read_committed" if committed else "read_uncommitted",
            "enable_auto_commit": False,
            "auto_offset_reset": "none",
            **to.consumer,
            **more,
        }
    )


def read_together(consumer: AIOKafkaConsumer) -> None:
    """Fetch for all partitions of a consumer that runs, or for none.

    After 100 ms with records that nobody has taken, aiokafka would ask for the other partitions alone; the broker holds
    that request back for half a second, and what arrives in the first one meanwhile has to wait for it.
    """
    consumer._fetcher._prefetch_backoff = _NEVER_S  # noqa: SLF001


def check_fetching(consumer: AIOKafkaConsumer) -> None:
    """Raise if a consumer that runs has ceased to fetch: aiokafka would go on saying that there is nothing."""
    fetching = consumer._fetcher.error_future  # noqa: SLF001 -- nobody else looks at it
    if fetching.done():
        raise NothingFetched(why=None if fetching.cancelled() else fetching.exception())


async def stop_producer(producer: AIOKafkaProducer, name: str) -> None:
    """Let go of a producer's connections. While brokers do not answer, aiokafka would wait for them for ever."""
    try:
        async with asyncio.timeout(_STOP_S):
            await producer.stop()
    except (TimeoutError, KafkaError) as error:
        log.warning("the producer %s did not stop cleanly: %r", name, error)
        # Or it would go on trying, and connect again.
        for closing in (producer._sender.close, producer.client.close):  # noqa: SLF001
            await asyncio.gather(asyncio.wait_for(closing(), _STOP_S), return_exceptions=True)


async def stop_consumer(consumer: AIOKafkaConsumer) -> None:
    """Let go of a consumer's connections, whatever the brokers do."""
    await asyncio.gather(asyncio.wait_for(consumer.stop(), _STOP_S), return_exceptions=True)


async def unreachable(to: Connection, error: Exception) -> Unreachable:
    """The error for people, when a client of aiokafka's has not found its brokers."""
    return Unreachable(bootstrap=to.bootstrap, why=await why_not_reached(to.bootstrap, _common(to, "admin"), error))


def appended(record: ConsumerRecord) -> Appended:
    """A record as aiokafka reads it, in the shape of every log."""
    return Appended(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        Record(record.key, record.value, without_null(record.headers)),
    )


def _common(to: Connection, role: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": to.bootstrap,
        "client_id": f"{to.client_id}-{role}",
        "request_timeout_ms": to.request_timeout_ms,
        **to.client,
    }
