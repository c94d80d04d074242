"""What comes next in a partition? The heads of its indexes: one of each priority of `due`, and that of `leases`."""

from collections.abc import Iterator
from heapq import merge
from itertools import islice

import msgspec
from rocksdict import Rdict

from lightsched.engine.state import State
from lightsched.engine.view import Entry
from lightsched.event.identity import Identity
from lightsched.store.cursor import EMPTY, Cursor
from lightsched.store.keys import (
    FIRST_PRIORITY,
    LAST_PRIORITY,
    due_key,
    lease_key,
    parse_due,
    parse_lease,
    partition_end,
    partition_key,
)
from lightsched.store.rocks import between
from lightsched.store.values import parse_due_value

Place = tuple[int, int, int]
"""Of an entry in the order of time: due, priority, arrival."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[bytes]).decode


class Heads:
    """The cursors of a partition."""

    def __init__(self, due: Rdict, leases: Rdict, partition: int, stored: bytes | None) -> None:
        self._partition = partition
        self._stored = stored
        priorities = range(FIRST_PRIORITY, LAST_PRIORITY + 1)
        lows: list[bytes] | list[None] = [None] * (len(priorities) + 1) if stored is None else _decode(stored)
        self.due = [
            Cursor(due, due_key(partition, priority, 0, 0), due_key(partition, priority + 1, 0, 0), lows[priority])
            for priority in priorities
        ]
        self.leases = Cursor(leases, partition_key(partition), partition_end(partition), lows[-1])

    def due_ms(self) -> int | None:
        """The time of the first entry of `due`."""
        heads = (cursor.head() for cursor in self.due)
        return min((parse_due(head)[1] for head in heads if head != EMPTY), default=None)

    def next_ms(self) -> int | None:
        """The time of the first entry of all."""
        due_ms, deadline = self.due_ms(), self.leases.head()
        if deadline == EMPTY:
            return due_ms
        deadline_ms = parse_lease(deadline)
        return deadline_ms if due_ms is None else min(due_ms, deadline_ms)

    def due_until(self, until_ms: int, limit: int, states: dict[Identity, State]) -> list[Entry]:
        """Entries with due ≤ until, in firing order: priority, due, arrival. The states that they hold are added."""
        found: list[Entry] = []
        for priority, cursor in enumerate(self.due):
            end = due_key(self._partition, priority, until_ms + 1, 0)
            for key, value in cursor.scan(end, limit - len(found)):
                _, due_ms, seq = parse_due(key)
                name, state = parse_due_value(value)
                found.append(Entry(priority, due_ms, seq, name))
                if state is not None:
                    states[name] = state
            if len(found) == limit:
                break
        return found

    def soonest(self, due: Rdict, start: Place, limit: int) -> list[Entry]:
        """Entries from a place on, in the order of time, whatever their priority. Moves no cursor."""
        by_priority = (self._from(due, priority, start) for priority in range(len(self.due)))
        return list(islice(merge(*by_priority, key=place_of), limit))

    def _from(self, due: Rdict, priority: int, start: Place) -> Iterator[Entry]:
        """Entries of one priority, from a place on."""
        low = self.due[priority].low
        if low == EMPTY:
            return
        start_ms, same, seq = start
        first = due_key(self._partition, priority, start_ms + (priority < same), seq if priority == same else 0)
        for key, value in between(due, max(low, first), due_key(self._partition, priority + 1, 0, 0)):
            yield Entry(*parse_due(key), parse_due_value(value)[0])

    def leases_until(self, until_ms: int, limit: int) -> list[Identity]:
        """Events with a deadline ≤ until, earliest first."""
        return [Identity(name) for _, name in self.leases.scan(lease_key(self._partition, until_ms + 1, 0, 0), limit)]

    def settle(self) -> bytes | None:
        """A step is applied: what to persist, if the heads have moved."""
        for cursor in self.due:
            cursor.settle()
        self.leases.settle()
        lows = _encode([*(cursor.low for cursor in self.due), self.leases.low])
        if lows == self._stored:
            return None
        self._stored = lows
        return lows


def place_of(entry: Entry) -> Place:
    """Where an entry stands in the order of time."""
    return entry.due_ms, entry.priority, entry.seq
