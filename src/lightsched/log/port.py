"""What is a log? Where a partition's inputs come from and its steps go to. The worker knows nothing else of it.

`take → read → engine → commit`: a commit covers log *and* store, whole or not at all. Two adapters: `embedded`
(RocksDB, one process) and Kafka; one conformance suite runs on both.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from lightsched.engine.step import Step
from lightsched.event.delivery import Delivery
from lightsched.event.record import Appended, Record
from lightsched.event.topics import Topics
from lightsched.log.peer import Peer
from lightsched.store.store import Store

Place = tuple[str, int]
"""Topic and partition."""


class Partition(Protocol):
    """A partition this process is the only writer of."""

    number: int

    @property
    def store(self) -> Store:
        """Its state, with all steps that were written."""

    @property
    def behind(self) -> bool:
        """Inputs from before the take are still to be read: nothing may fire before them."""

    @property
    def lag(self) -> int:
        """Inputs that are still to be read."""

    def read_until(self, now_ms: int) -> tuple[int, int]:
        """Until when all is read that was appended, as far as is known: commands, reports. `now_ms`: nothing waits."""

    async def read(self, limit: int, wait_s: float) -> list[Appended]:
        """The next inputs (events, then reports) after those already returned: at once if there are any, otherwise
        after at most `wait_s`, or when `wake` is called.
        """

    def wake(self) -> None:
        """End a waiting `read` now."""

    async def write(self, step: Step) -> Awaitable[None]:
        """Take a step, whole or not at all: state, deliveries, follow-ups, dead letters, audit, input positions.

        On return the store has it, so the next one may be computed; wait for what is returned until it is durable
        and visible. `StepRefused`: nothing of it was written, and it has to be made again, from the same inputs.
        """

    async def commit(self, step: Step) -> None:
        """Write a step, and wait until it is durable and visible."""

    async def close(self) -> None:
        """Give the partition up."""


class Log(Protocol):
    """Partitions to take, topics to append to and to read from."""

    partitions: int
    topics: Topics

    @property
    def owned(self) -> frozenset[int]:
        """The partitions that are this node's to take."""

    @property
    def joined(self) -> bool:
        """Is it known which partitions are this node's?"""

    async def changed(self) -> None:
        """Wait until `owned` may have changed."""

    @property
    def lost(self) -> bool:
        """Nothing more can be done with this log but to open it again."""

    @property
    def known_topics(self) -> list[str]:
        """Its own topics, and those that something was delivered to."""

    @property
    def peers(self) -> list[Peer]:
        """The other nodes, as far as they were heard of lately."""

    @property
    def keeps_submitted(self) -> bool:
        """Is what was submitted durable at once, so that another node carries it out if this one cannot?"""

    def watch(self, told: Callable[[str, bytes | None], None]) -> None:
        """Say what all nodes share, by key: what there is, and from now on whatever changes. None: it is gone."""

    async def share(self, key: str, value: bytes | None) -> None:
        """Let all nodes know something; durable and known here on return. None: it is gone."""

    def moved(self) -> None:
        """A partition was taken or given up here: the others should know."""

    async def announce(self, own: Callable[[], Peer]) -> None:
        """Tell the other nodes about this one from now on, and whenever ownership changes."""

    def refuse(self, delivery: Delivery) -> str:
        """Why a delivery cannot be made, empty if it can: asked before the step is committed."""

    async def take(self, number: int) -> Partition:
        """Become the only writer of a partition: restored, positioned at its next input."""

    async def append(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append records, all or none, durable on return; the offset of the first."""

    async def submit(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append records for a worker of this process, all or none; the offset of the first.

        They are durable no later than the step that reads them: whoever waits for its outcome need not wait twice.
        """

    async def append_all(self, topic: str, placed: Mapping[int, Sequence[Record]]) -> dict[int, int]:
        """Append records to several partitions of a topic, all or none, durable on return; the first offset in each."""

    async def fetch(self, topic: str, positions: Mapping[int, int], limit: int, wait_s: float) -> list[Appended]:
        """Durable records of a topic from these positions (partition → next offset; absent: its start) on; waits up
        to `wait_s` for the first.
        """

    async def positions(self, topic: str, group: str) -> dict[int, int]:
        """Where a group of readers stands."""

    async def acknowledge(self, topic: str, group: str, positions: Mapping[int, int]) -> None:
        """Move a group of readers; durable on return."""

    async def ends(self, topic: str) -> dict[int, tuple[int, int]]:
        """Partition → the first offset of a topic's records and the one after its last durable one."""

    async def all_ends(self, topics: Sequence[str]) -> dict[Place, tuple[int, int]]:
        """As `ends`, of several topics at once."""

    async def look(self, spans: Mapping[Place, range], take: Callable[[list[Appended]], None]) -> None:
        """Hand out the durable records at these offsets, which lie before the ends, of as many places as one likes:
        some at a time, and those of one place in their order.
        """

    async def close(self) -> None:
        """Finish what is under way and let go of everything."""
