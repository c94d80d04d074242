"""What do the tests of a log commit? Steps with one of everything, made by hand."""

import asyncio

import msgspec
from msgspec import structs

from lightsched.engine.state import State
from lightsched.engine.step import DeadLetter, Follow, Step, Transition
from lightsched.event.delivery import Delivery
from lightsched.event.identity import Identity, identity
from lightsched.event.record import Record
from lightsched.event.status import Status
from lightsched.event.topics import DEFAULT, Topics


class Names:
    """The topics of the test that runs: on Kafka every test has its own."""

    def __init__(self) -> None:
        self.prefix = DEFAULT.prefix

    def __getattr__(self, name: str) -> str:
        return getattr(Topics(self.prefix), name)

    @property
    def orders(self) -> str:
        """A topic that only a test knows."""
        return self.prefix + "orders"

    @property
    def others(self) -> str:
        """Another one."""
        return self.prefix + "others"


TOPICS = Names()

LONG_S = 60.0
"""Longer than any test: a wait of this length ends because something happened."""


def record(text: str, **headers: str) -> Record:
    return Record(b"key", text.encode(), tuple((name, value.encode()) for name, value in headers.items()))


def command(**fields: object) -> Record:
    return Record(None, msgspec.json.encode(fields))


def event(text: str) -> Identity:
    return identity("default", text, text)


def delivery(text: str, *topics: str) -> Delivery:
    return Delivery(event(text), 0, 1, text, topics or (TOPICS.deliveries,), record(text))


def dead(text: str) -> DeadLetter:
    return DeadLetter("INVALID", "why not", record(text, was="there"), TOPICS.events, 7, 1)


def transition(text: str) -> Transition:
    return Transition("2027-01-15T08:00:00.000Z", "schedule", "default", text, text)


def follow(text: str, partition: int) -> Follow:
    return Follow(TOPICS.events, partition, record(text))


def step(
    partition, text: str, *, topics: tuple[str, ...] = (), inputs: int = 0, full: bool = True, now_ms: int = 0
) -> Step:
    """A step that writes the state and definition of an event, delivers it and, if `full`, emits everything else."""
    store = partition.store
    meta = store.meta
    made = Step(
        now_ms,
        structs.replace(meta, step=meta.step + 1, seq=meta.seq + 1, events_offset=meta.events_offset + inputs),
    )
    name = event(text)
    made.before = {name: store.state(name)}
    made.states = {name: State(1, Status.NOT_STARTED, 0, 0, b"", made.meta.seq, 5, due_ms=made.meta.seq)}
    made.definitions = {name: text.encode()}
    made.deliveries = [delivery(text, *topics)]
    if full:
        made.follows = [follow(text, (partition.number + 1) % 3)]
        made.dead_letters = [dead(text)]
        made.audit = [transition(text), transition(text + " again")]
    return made


def values(appended) -> list[str]:
    return [each.record.value.decode() for each in appended]


async def fetched(log, topic, count):
    """So many records of a topic, and no more: on Kafka a commit is visible a moment after it is acknowledged."""
    found, positions = [], {}
    async with asyncio.timeout(LONG_S):
        while len(found) < count:
            more = await log.fetch(topic, positions, count, LONG_S)
            positions |= {each.partition: each.offset + 1 for each in more}
            found += more
    assert await log.fetch(topic, positions, 1, 0) == []
    return found
