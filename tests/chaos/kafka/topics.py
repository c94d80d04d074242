"""Where may deliveries go? Besides the default topic to another one, to a narrow one, and to some that refuse them."""

from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.broker.rights import DESCRIBE, DESCRIBE_CONFIGS, READ, deny_writing

NARROW_BYTES = 20_000


async def create_topics(bootstrap: str, prefix: str, partitions: int, replication: int) -> list[str]:
    """Create them; those that nothing can be delivered to, `nowhere` among them, which is not there at all.

    `denied` can be seen and not written, `hidden` not even seen: only where brokers look at rights.
    """
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        stamped = {"message.timestamp.type": "LogAppendTime"}
        narrow = {**stamped, "max.message.bytes": str(NARROW_BYTES)}
        settings = {"other": stamped, "narrow": narrow, "denied": stamped, "hidden": stamped}
        await admin.create_topics(
            [
                NewTopic(prefix + name, partitions, replication, topic_configs=of_topic)
                for name, of_topic in settings.items()
            ]
        )
        refusing = [f"{prefix}nowhere"]
        if await deny_writing(admin, f"{prefix}denied", (READ, DESCRIBE, DESCRIBE_CONFIGS)):
            await deny_writing(admin, f"{prefix}hidden")
            refusing += [f"{prefix}denied", f"{prefix}hidden"]
        return refusing
    finally:
        await admin.close()
