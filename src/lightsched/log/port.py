"""What is a log? Where a partition's inputs come from and its steps go to. The worker knows nothing else of it.

`take → read → engine → commit`: a commit covers log *and* store, whole or not at all. Two adapters: `embedded`
(RocksDB, one process) and Kafka; one conformance suite runs on both.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from lightsched.engine.step import Step
from lightsched.event.delivery import Delivery
from lightsched.event.record import Appended, Record
from lightsched.store.store import Store


class Partition(Protocol):
    """A partition this process is the only writer of."""

    number: int
    store: Store

    @property
    def behind(self) -> bool:
        """Inputs from before the take are still to be read: nothing may fire before them."""

    @property
    def lag(self) -> int:
        """Inputs that are still to be read."""

    async def read(self, limit: int, wait_s: float) -> list[Appended]:
        """The next inputs (events, then reports) after those already returned: at once if there are any, otherwise
        after at most `wait_s`, or when `wake` is called.
        """

    def wake(self) -> None:
        """End a waiting `read` now."""

    async def commit(self, step: Step) -> None:
        """Make a step durable, then visible: state, deliveries, follow-ups, dead letters, audit, input positions."""

    async def close(self) -> None:
        """Give the partition up."""


class Log(Protocol):
    """Partitions to take, topics to append to and to read from."""

    partitions: int

    def refuse(self, delivery: Delivery) -> str:
        """Why a delivery cannot be made, empty if it can: asked before the step is committed."""

    async def take(self, number: int) -> Partition:
        """Become the only writer of a partition: restored, positioned at its next input."""

    async def append(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append records, all or none, durable on return; the offset of the first."""

    async def fetch(self, topic: str, positions: Mapping[int, int], limit: int, wait_s: float) -> list[Appended]:
        """Durable records of a topic from these positions (partition → next offset; absent: its start) on; waits up
        to `wait_s` for the first.
        """

    async def positions(self, topic: str, group: str) -> dict[int, int]:
        """Where a group of readers stands."""

    async def acknowledge(self, topic: str, group: str, positions: Mapping[int, int]) -> None:
        """Move a group of readers; durable on return."""

    async def close(self) -> None:
        """Finish what is under way and let go of everything."""
