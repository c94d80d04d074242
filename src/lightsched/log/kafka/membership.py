"""Which partitions are mine? A member of the consumer group that reads nothing: it only says who owns what.

Its partitions are paused, and it is polled all the same, or the group would expel it. Workers go on through a
rebalance: what counts is the newest assignment that is known, and the fence protects the partitions, not the group.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from time import monotonic

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError
from aiokafka.structs import OffsetAndMetadata

from lightsched.log.kafka.clients import reader
from lightsched.log.kafka.connection import Connection, Group
from lightsched.log.kafka.errors import NoMember
from lightsched.log.kafka.former import Former
from lightsched.log.kafka.sharing import Claim, Sharing

log = logging.getLogger(__name__)

_POLL_S = 0.5
_COMMIT_EVERY_S = 5.0
_HEARTBEAT_MS = 500  # by its answer a member learns that another has come or gone, and a partition waits for that


class Membership(ConsumerRebalanceListener):  # type: ignore[misc]
    """This node's place in the group."""

    def __init__(
        self,
        connection: Connection,
        topic: str,
        partitions: int,
        group: Group,
        *,
        path: Path,
        stored: Callable[[], dict[int, int]],
    ) -> None:
        """`path`: the node's directory. `stored`: the partitions that it has stores of, and how old they are."""
        self.owned: frozenset[int] = frozenset()
        self._session_s = group.session_timeout_ms / 1000
        self._heard_at = -math.inf  # when the group was last asked something that it answered (monotonic)
        self._changed = asyncio.Event()
        self._topic = topic
        self._group = group.name
        self._former = Former(path, group.name) if group.instance is None else None  # a static one is known again
        self._consumer: AIOKafkaConsumer = reader(
            connection,
            "member",
            group_id=group.name,
            group_instance_id=group.instance,
            session_timeout_ms=group.session_timeout_ms,
            heartbeat_interval_ms=min(group.session_timeout_ms // 4, _HEARTBEAT_MS),
            max_poll_interval_ms=group.max_poll_interval_ms,
            rebalance_timeout_ms=group.session_timeout_ms,
            partition_assignment_strategy=(Sharing(topic, partitions, lambda: Claim(self.owned, stored())),),
            auto_offset_reset="latest",
        )
        self._polling: asyncio.Task[None] | None = None
        self._offsets: dict[int, int] = {}

    async def start(self, admin: AIOKafkaAdminClient) -> None:
        """Join the group, in the background."""
        if self._former is not None:
            await self._former.leave(admin)
        self._consumer.subscribe([self._topic], listener=self)
        self._polling = asyncio.create_task(self._poll(), name="membership")

    @property
    def current(self) -> bool:
        """Is it in the group, for all it knows? Whoever is not heard of for a session's time is no longer."""
        return monotonic() - self._heard_at < self._session_s

    async def changed(self) -> None:
        """Wait for the next assignment. Raises what makes it impossible to be a member."""
        assert self._polling is not None, "it was not started"
        waiting = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait({waiting, self._polling}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if self._polling.done():
            raise NoMember(group=self._group, why=self._polling.exception())
        self._changed.clear()

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """A rebalance begins: nothing stops."""

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """A rebalance is over."""
        self.owned = frozenset(each.partition for each in assigned)
        self._heard_at = monotonic()
        self._changed.set()
        self._consumer.pause(*assigned)
        log.info("partitions assigned: %s", ", ".join(map(str, sorted(self.owned))) or "none")
        if self._former is not None:
            try:
                self._former.remember(self._consumer._coordinator.member_id)  # noqa: SLF001 -- nobody else knows it
            except OSError as error:
                log.warning("after a kill the group will wait until this member has timed out: %r", error)

    async def confirmed(self) -> bool:
        """Is this member one of the group's current generation, as its coordinator says?"""
        try:
            beats: bool = await self._consumer._coordinator._do_heartbeat()  # noqa: SLF001
        except KafkaError:
            return False
        return beats

    async def _beat(self, beat: Callable[[], Awaitable[bool]]) -> bool:
        """A heartbeat; that it was answered is worth something from when it was sent."""
        began = monotonic()
        beats = await beat()
        if beats:
            self._heard_at = max(self._heard_at, began)
        return beats

    def note(self, offsets: Mapping[int, int]) -> None:
        """How far the workers have read: told to the group every few seconds, for those who watch its lag."""
        self._offsets.update(offsets)

    async def close(self) -> None:
        """Leave the group."""
        if self._polling is not None:
            self._polling.cancel()
            with contextlib.suppress(asyncio.CancelledError, KafkaError):
                await self._polling
        await self._consumer.stop()
        if self._former is not None and self._heard_at > 0:
            self._former.forget()

    async def _poll(self) -> None:
        await self._consumer.start()
        coordinator = self._consumer._coordinator  # noqa: SLF001 -- its heartbeats say whether it is in the group
        coordinator._do_heartbeat = partial(self._beat, coordinator._do_heartbeat)  # noqa: SLF001
        committed_at = asyncio.get_running_loop().time()
        while True:
            try:
                await self._consumer.getmany(timeout_ms=int(_POLL_S * 1000))
            except KafkaError as error:
                if coordinator._coordination_task.done():  # noqa: SLF001 -- it will never join again
                    raise
                log.warning("the group member has trouble, and joins again: %r", error)
                coordinator.request_rejoin()  # after an error that it did not expect it would send no more heartbeats
                await asyncio.sleep(_POLL_S)
            if asyncio.get_running_loop().time() - committed_at >= _COMMIT_EVERY_S:
                committed_at = asyncio.get_running_loop().time()
                await self._commit()

    async def _commit(self) -> None:
        offsets = {
            TopicPartition(self._topic, number): OffsetAndMetadata(offset, "")
            for number, offset in self._offsets.items()
            if number in self.owned
        }
        self._offsets.clear()
        if offsets:
            try:
                await self._consumer.commit(offsets)
            except (CommitFailedError, IllegalStateError, KafkaError) as error:
                log.debug("offsets were not committed, which only monitors miss: %r", error)
