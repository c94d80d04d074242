"""Are the topics there, and as they must be? Created where they are missing, refused where they are wrong."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    InvalidTopicError,
    NoError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    for_code,
)
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.produce import ProduceRequest

from lightsched.event.topics import Topics
from lightsched.log.kafka.clients import admin as admin_client
from lightsched.log.kafka.clients import unreachable
from lightsched.log.kafka.connection import Connection
from lightsched.log.kafka.errors import TopicsMissing, TopicsWrong
from lightsched.reaching import NOT_REACHED

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
DEFAULT_BYTES = 1_048_588
"""Of one batch of records, if nothing else is set."""
TOMBSTONES_MS = DAY_MS
"""How long a deleted key of the changelog can still be seen as deleted."""
_PROBE_MS = 5_000
_NOT_THERE = (UnknownTopicOrPartitionError, InvalidTopicError, TopicAuthorizationFailedError)
"""Other errors say something of the brokers, and nothing of the topic."""
_STAMPED = {"message.timestamp.type": "LogAppendTime"}
BESIDES_PAYLOAD = 128 * 1024
"""More than all else of an event takes: headers, labels, topics, what its tenant fills in."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A topic as it must be."""

    name: str
    partitions: int
    settings: Mapping[str, str] = field(default_factory=dict)
    fixed: bool = True  # the number of partitions matters
    takes_from: str = ""  # the topic whose records must fit into this one


@dataclass(frozen=True, slots=True)
class Found:
    """A topic as it is."""

    partitions: int
    replication: int
    settings: Mapping[str, str]

    @property
    def most_bytes(self) -> int:
        """Of one batch of records."""
        return int(self.settings.get("max.message.bytes", DEFAULT_BYTES))


def wanted(topics: Topics, partitions: int, retention_ms: int) -> list[Wanted]:
    """Lightsched's own topics."""
    kept = {**_STAMPED, "cleanup.policy": "delete", "retention.ms": str(retention_ms)}
    compacted = {**_STAMPED, "cleanup.policy": "compact", "delete.retention.ms": str(TOMBSTONES_MS)}
    return [
        Wanted(topics.events, partitions, kept),
        Wanted(topics.reports, partitions, kept),
        Wanted(topics.deliveries, partitions, kept),
        Wanted(topics.changelog, partitions, {**compacted, "segment.ms": str(DAY_MS)}, takes_from=topics.events),
        Wanted(topics.audit, partitions, kept),
        Wanted(topics.dead_letter, partitions, kept, fixed=False, takes_from=topics.events),
        Wanted(topics.nodes, 1, {**compacted, "segment.ms": str(HOUR_MS)}),  # read as a whole by every node that starts
    ]


async def describe(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, Found]:
    """The topics of these names that exist."""
    request = MetadataRequest(list(names), allow_auto_topic_creation=False)
    described = (await admin._send_request(request)).to_object()["topics"]  # noqa: SLF001 -- its own call creates them
    there = {}
    for topic in described:
        error = for_code(topic["error_code"])
        if error is NoError and topic["partitions"]:
            there[topic["topic"]] = topic["partitions"]
        elif error not in (NoError, *_NOT_THERE):
            raise error(f"what is known of the topic {topic['topic']}")
    if not there:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in there]
    settings: dict[str, dict[str, str]] = {}
    for answer in await admin.describe_configs(resources):
        for _error, _message, _type, name, entries in answer.resources:
            settings[name] = {entry[0]: entry[1] for entry in entries}
    return {
        name: Found(len(partitions), min(len(each["replicas"]) for each in partitions), settings.get(name, {}))
        for name, partitions in there.items()
    }


async def denied(admin: AIOKafkaAdminClient, names: Iterable[str]) -> set[str]:
    """Those of these topics that may not be written.

    Asked by writing nothing: a broker looks at rights first, and then refuses what has no records. In a transaction it
    would be too late to learn it: aiokafka sends what belongs to the other topics all the same, and the numbers of
    those batches are spent.
    """
    nothing = [(name, [(0, b"")]) for name in names]
    if not nothing:
        return set()
    answer = await admin._send_request(ProduceRequest(None, -1, _PROBE_MS, nothing))  # noqa: SLF001
    return {
        name
        for name, partitions in answer.topics
        if any(for_code(code) is TopicAuthorizationFailedError for _number, code, *_more in partitions)
    }


async def create(
    admin: AIOKafkaAdminClient, topics: Sequence[Wanted], replication: int, found: Mapping[str, Found]
) -> list[str]:
    """Create those that are missing; their names."""
    missing = [topic for topic in topics if topic.name not in found]
    if not missing:
        return []
    answer = await admin.create_topics(
        [
            NewTopic(topic.name, topic.partitions, replication, topic_configs=_settings(topic, found))
            for topic in missing
        ]
    )
    problems = []
    for name, code, *message in answer.topic_errors:
        if for_code(code) not in (NoError, TopicAlreadyExistsError):
            problems.append(f"{name} could not be created ({(message and message[0]) or for_code(code).__name__})")
    if problems:
        raise TopicsWrong(problems="; ".join(problems))
    return [topic.name for topic in missing]


def _settings(topic: Wanted, found: Mapping[str, Found]) -> dict[str, str]:
    """To be created with: as large records as in the topic that it takes from, if that one is there."""
    source = found.get(topic.takes_from)
    return {**topic.settings, **({"max.message.bytes": str(source.most_bytes)} if source else {})}


def check_room(topics: Topics, found: Mapping[str, Found], payload: int) -> None:
    """Raise if an event with the largest payload would not fit where it has to go, as it is stored: as base64."""
    needed = payload * 4 // 3 + BESIDES_PAYLOAD
    narrow = [name for name in (topics.events, topics.changelog) if found[name].most_bytes < needed]
    if payload and narrow:
        problem = f"an event with limits.payload = {payload} bytes takes up to {needed}: give {' and '.join(narrow)}"
        raise TopicsWrong(problems=f"{problem} a max.message.bytes of that, or lower the limit")


def check(topics: Sequence[Wanted], found: Mapping[str, Found], replication: int) -> None:
    """Raise what is wrong with the topics, all of it."""
    missing = [topic.name for topic in topics if topic.name not in found]
    if missing:
        raise TopicsMissing(topics=", ".join(missing))
    problems = []
    for topic in topics:
        there = found[topic.name]
        if topic.fixed and there.partitions != topic.partitions:
            problems.append(
                f"{topic.name} has {there.partitions} partitions and must have {topic.partitions}"
                " (set kafka.partitions, or create it anew)"
            )
        if there.replication < replication:
            problems.append(f"{topic.name} has {there.replication} replicas and must have {replication}")
        for name in ("message.timestamp.type", "cleanup.policy"):
            is_, must = there.settings.get(name), topic.settings.get(name)
            if is_ is not None and must is not None and is_ != must:
                problems.append(f"{topic.name} has {name}={is_} and must have {must}")
        kept_ms = int(there.settings.get("delete.retention.ms", TOMBSTONES_MS))
        if topic.settings["cleanup.policy"] == "compact" and kept_ms < TOMBSTONES_MS:
            problems.append(f"{topic.name} has delete.retention.ms={kept_ms} and must have at least {TOMBSTONES_MS}")
        source = found.get(topic.takes_from)
        if source is not None and there.most_bytes < source.most_bytes:
            problems.append(
                f"{topic.name} has max.message.bytes={there.most_bytes} and must have {source.most_bytes},"
                f" as {topic.takes_from}, whose records it takes"
            )
    if problems:
        raise TopicsWrong(problems="; ".join(problems))


async def ensure(
    admin: AIOKafkaAdminClient, topics: Sequence[Wanted], replication: int, *, create_missing: bool
) -> tuple[dict[str, Found], list[str]]:
    """The topics as they are, and the names of those that were created; raises what is wrong with them."""
    names = [topic.name for topic in topics]
    found = await describe(admin, names)
    created = await create(admin, topics, replication, found) if create_missing else []
    for _ in range(50):  # topics that were just created are not known everywhere at once
        if not created or len(found) == len(names):
            break
        await asyncio.sleep(0.1)
        found = await describe(admin, names)
    check(topics, found, replication)
    return found, created


async def check_all(connection: Connection, topics: Topics, partitions: int, replication: int) -> None:
    """Raise what is wrong with the topics, or with the way to them."""
    client = admin_client(connection)
    try:
        await client.start()
        own = wanted(topics, partitions, 0)
        check(own, await describe(client, [topic.name for topic in own]), replication)
    except NOT_REACHED as error:
        raise await unreachable(connection, error) from error
    finally:
        await client.close()


async def create_all(
    connection: Connection, topics: Topics, partitions: int, replication: int, retention_ms: int
) -> list[str]:
    """Create the topics that are missing; their names."""
    client = admin_client(connection)
    try:
        await client.start()
        own = wanted(topics, partitions, retention_ms)
        return (await ensure(client, own, replication, create_missing=True))[1]
    except NOT_REACHED as error:
        raise await unreachable(connection, error) from error
    finally:
        await client.close()
