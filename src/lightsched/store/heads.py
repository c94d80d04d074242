"""What comes next in a partition? The heads of its indexes: one of each priority of `due`, and that of `leases`."""

import msgspec
from rocksdict import Rdict

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

    def next_ms(self) -> int | None:
        """The time of the first entry of all."""
        times = [parse_due(head)[1] for head in (cursor.head() for cursor in self.due) if head != EMPTY]
        deadline = self.leases.head()
        if deadline != EMPTY:
            times.append(parse_lease(deadline))
        return min(times, default=None)

    def due_until(self, until_ms: int, limit: int) -> list[Entry]:
        """Entries with due ≤ until, in firing order: priority, due, arrival."""
        found: list[Entry] = []
        for priority, cursor in enumerate(self.due):
            end = due_key(self._partition, priority, until_ms + 1, 0)
            for key, name in cursor.scan(end, limit - len(found)):
                _, due_ms, seq = parse_due(key)
                found.append(Entry(priority, due_ms, seq, name))
            if len(found) == limit:
                break
        return found

    def leases_until(self, until_ms: int, limit: int) -> list[Identity]:
        """Events with a deadline ≤ until, earliest first."""
        return [name for _, name in self.leases.scan(lease_key(self._partition, until_ms + 1, 0, 0), limit)]

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
