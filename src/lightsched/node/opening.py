"""Which log does a node work on? The one that its settings name."""

from collections.abc import Callable

from lightsched.log.embedded.log import EmbeddedLog
from lightsched.log.port import Log
from lightsched.node.clock import Clock
from lightsched.node.guard import ClockGuard
from lightsched.node.metrics import Metrics
from lightsched.node.settings import Settings


async def open_embedded(settings: Settings, stamp_ms: Callable[[], int]) -> Log:
    """The embedded log, in a folder of this machine."""
    own = settings.embedded
    return await EmbeddedLog.open(
        settings.data,
        partitions=own.partitions,
        prefix=own.prefix,
        clock_ms=stamp_ms,
        retention_ms=own.retention,
    )


async def open_kafka(
    settings: Settings, stamp_ms: Callable[[], int], clock: Clock, guard: ClockGuard, metrics: Metrics
) -> Log:
    """Kafka."""
    # Who needs no Kafka does not wait for its client.
    from lightsched.log.kafka.listener import Listener  # noqa: PLC0415
    from lightsched.log.kafka.log import KafkaLog  # noqa: PLC0415

    own = settings.kafka
    return await KafkaLog.open(
        own.connection(settings.node_id),
        settings.data,
        partitions=own.partitions,
        prefix=own.prefix,
        replication=own.replication,
        retention_ms=own.retention,
        create_topics=own.create_topics,
        most_payload=settings.limits.payload,
        go_on_without_lost_inputs=own.on_lost_input == "continue",
        group=own.membership(),
        clock_ms=stamp_ms,
        listener=Listener(
            time=lambda told_ms: guard.tell(told_ms, clock.monotonic_ms()),
            restored=metrics.restored,
            input_lost=metrics.input_lost,
        ),
    )
