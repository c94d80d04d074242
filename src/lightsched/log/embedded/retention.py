"""When are records dropped? Inputs once their worker has read them, everything else when it is too old.

Dropping is a range delete in the batch of a step that is written anyway: it costs one entry, whatever it drops. Inputs
are a hand-off and go after some thousand records, mostly while they are still in memory and never reach a file; those
that were never written go with the step that has read them. Of the
other topics one partition is looked at per step, each about once a minute; what is too old goes when the oldest has
been so for an eighth of the retention, because reading gets slower with every range that was deleted lately.
"""

from collections import deque

from rocksdict import WriteBatch

from lightsched.log.embedded.catalogue import Catalogue
from lightsched.log.embedded.topic import TopicPartition

INPUTS_BEHIND = 4_096
PACE_MS = 60_000
CHUNKS_AT_ONCE = 32


class Retention:
    """What may go."""

    def __init__(self, catalogue: Catalogue, retention_ms: int) -> None:
        self._catalogue = catalogue
        self._retention_ms = retention_ms
        self._outputs: deque[TopicPartition] = deque()  # still to be looked at in this round
        self._next_round_ms = 0

    def drop_consumed(self, batch: WriteBatch, partition: TopicPartition, position: int) -> list[TopicPartition]:
        """A worker will read an input from `position` on: what lies behind may go. Says where something goes."""
        if position - partition.first < INPUTS_BEHIND and position <= partition.stored:
            return []
        self._catalogue.drop_before(batch, partition, position)
        return [partition]

    def drop_old(self, batch: WriteBatch, now_ms: int) -> list[TopicPartition]:
        """Drop what is too old in the next topic's partition, some chunks at a time. Says where something goes."""
        if not self._outputs:
            if now_ms < self._next_round_ms:
                return []
            self._next_round_ms = now_ms + PACE_MS
            self._outputs.extend(self._catalogue.outputs)
        partition = self._outputs.popleft()
        old_ms = now_ms - self._retention_ms
        if partition.first_since(old_ms - self._retention_ms // 8, 1) == partition.first:
            return []
        kept = partition.first_since(old_ms, CHUNKS_AT_ONCE)
        self._outputs.appendleft(partition)
        self._catalogue.drop_before(batch, partition, kept)
        return [partition]
