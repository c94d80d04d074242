"""When are records dropped? Inputs once their worker has read them, everything else when it is too old.

Dropping is a range delete in the batch of a step that is written anyway: it costs one entry, whatever it drops. Inputs
are a hand-off and go after some thousand records, mostly while they are still in memory and never reach a file. Of the
other topics one partition is looked at per step, each about once a minute.
"""

from collections import deque

from rocksdict import WriteBatch

from lightsched.log.embedded.catalogue import Catalogue
from lightsched.log.embedded.topic import TopicPartition

INPUTS_BEHIND = 4_096
PACE_MS = 60_000


class Retention:
    """What may go."""

    def __init__(self, catalogue: Catalogue, retention_ms: int) -> None:
        self._catalogue = catalogue
        self._retention_ms = retention_ms
        self._outputs: deque[TopicPartition] = deque()  # still to be looked at in this round
        self._next_round_ms = 0

    def drop_consumed(self, batch: WriteBatch, partition: TopicPartition, position: int) -> None:
        """A worker will read an input from `position` on: what lies behind may go."""
        if position - partition.first >= INPUTS_BEHIND:
            self._catalogue.drop_before(batch, partition, position)

    def drop_old(self, batch: WriteBatch, now_ms: int) -> None:
        """Drop what is too old in the next topic's partition."""
        if not self._outputs:
            if now_ms < self._next_round_ms:
                return
            self._next_round_ms = now_ms + PACE_MS
            self._outputs.extend(self._catalogue.outputs)
            if not self._outputs:
                return
        partition = self._outputs.popleft()
        kept = partition.first_since(now_ms - self._retention_ms)
        if kept > partition.first:
            self._catalogue.drop_before(batch, partition, kept)
