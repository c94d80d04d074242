"""Is a store that is rebuilt from the changelog the same as the live one?"""

import time
from pathlib import Path

from aiokafka import TopicPartition

from lightsched.log.kafka.clients import reader
from lightsched.log.kafka.connection import Connection
from lightsched.log.kafka.restoring import LocalStore, restore
from lightsched.store.rocks import Memory


async def compare_rebuilt(settings: dict[str, str], data: Path, scratch: Path) -> tuple[set[int], list[str]]:
    """The partitions that were compared, and what differs: of each store in a node's directory that is up to date.

    Others have moved away since.
    """
    connection = Connection(settings["LIGHTSCHED_KAFKA__BOOTSTRAP"])
    topic = f"{settings['LIGHTSCHED_KAFKA__PREFIX']}changelog"
    compared: set[int] = set()
    differences = []
    for path in sorted(data.glob("partition-*")):  # noqa: ASYNC240 -- nothing else runs
        number = int(path.name.removeprefix("partition-"))
        place = TopicPartition(topic, number)
        consumer = reader(connection, "rebuild")
        await consumer.start()
        live = LocalStore(path, number, Memory())
        rebuilt = LocalStore(scratch / path.name, number, Memory())
        try:
            bounds = (await consumer.beginning_offsets([place]))[place], (await consumer.end_offsets([place]))[place]
            await restore(rebuilt, consumer, place, bounds, lambda: time.time_ns() // 1_000_000)
            if live.store.meta.step == rebuilt.store.meta.step:
                compared.add(number)
                one, other = live.store.dump(), rebuilt.store.dump()
                if families := [name for name in one if one[name] != other[name]]:
                    differences.append(f"partition {number} of {data.name}: rebuilt differs in {families}")
        finally:
            await consumer.stop()
            live.close()
            rebuilt.close()
    return compared, differences
