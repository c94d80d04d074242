"""Is a topic there? Asked before it is used: the clients themselves would have it created, with a broker's defaults."""

from collections.abc import Mapping
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError, MessageSizeTooLargeError
from aiokafka.protocol.metadata import MetadataRequest

from lightsched.client.errors import ClientError, NotFound, TooLarge, Unreachable
from lightsched.client.kafka_place import Kafka
from lightsched.reaching import NOT_REACHED, why_not_reached


async def check_exists(kafka: Kafka, settings: Mapping[str, Any], *topics: str) -> None:
    """Raise if one of the topics is not there."""
    admin = AIOKafkaAdminClient(**settings)
    try:
        await admin.start()
        request = MetadataRequest(list(topics), allow_auto_topic_creation=False)
        found = (await admin._send_request(request)).to_object()["topics"]  # noqa: SLF001 - as said above
    except NOT_REACHED as error:
        why = await why_not_reached(kafka.bootstrap, settings, error)
        raise Unreachable(f"Kafka cannot be reached at {kafka.bootstrap}: {why}.") from error
    except KafkaError as error:
        raise failed(kafka, error) from error
    finally:
        await admin.close()
    for topic in found:
        if topic["error_code"] or not topic["partitions"]:
            raise NotFound(
                f"There is no topic {topic['topic']} on {kafka.bootstrap}: "
                "create it (`lightsched topics create`), or give another prefix, as in "
                f"kafka://{kafka.bootstrap}?prefix=mine."
            )


def failed(kafka: Kafka, error: KafkaError) -> ClientError:
    """What went wrong on the way to Kafka, for people."""
    if isinstance(error, MessageSizeTooLargeError):
        return TooLarge(f"Kafka does not take so large a record: {error}")
    return Unreachable(f"Kafka at {kafka.bootstrap} does not do it: {str(error) or type(error).__name__}.")
