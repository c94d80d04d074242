"""How many events are due in each coming minute, by tenant?

The due index knows; nobody else has to. A forecast counts the minutes it is asked for from the index, once, and from
then on keeps them right as entries come and go. Within a priority it goes from one entry to the next, so it can stop
anywhere and go on later: entries up to where it stands are counted, and a change among them is added at once. Nothing
is persisted, a change costs a comparison, and memory holds the minutes from the first to the last one asked for, at
most `MAX_MINUTES`.

(Persisting a count per minute and tenant would cost every event a look-up and a write of its own, in and out.)
"""

from rocksdict import Rdict

from lightsched.event.identity import Identity, tenant_of
from lightsched.store.keys import FIRST_PRIORITY, LAST_PRIORITY, due_key, parse_due
from lightsched.store.rocks import between
from lightsched.store.values import parse_due_value

MAX_MINUTES = 3 * 24 * 60
_MINUTE_MS = 60_000
_PRIORITIES = range(FIRST_PRIORITY, LAST_PRIORITY + 1)

MinuteCounts = dict[int, dict[str, int]]
"""Minute since the epoch → tenant → entries due in it."""


class Forecast:
    """Entries per minute, counted as far as was asked for."""

    def __init__(self, family: Rdict, partition: int) -> None:
        self._family = family
        self._partition = partition
        self.active = False  # something was counted, and has to be kept right
        self._tenants: MinuteCounts = {}
        self._first = 0  # minute
        self._counted = [b""] * len(
            _PRIORITIES
        )  # from the first minute up to this key, which is the next to be counted

    def count(self, first: int, minutes: int, limit: int) -> bool:
        """Count on, over at most `limit` entries, until `minutes` from `first` on are counted. Are they?"""
        self._begin_at(first)
        self.active = True
        for priority in _PRIORITIES:
            end = self._key(priority, first + min(minutes, MAX_MINUTES))
            if self._counted[priority] < end:
                limit -= self._count(priority, end, limit)
                if limit <= 0:
                    return False
        return True

    def minutes(self, first: int, minutes: int) -> MinuteCounts:
        """What was counted; minutes without entries are left out."""
        return {
            minute: dict(tenants)
            for minute, tenants in sorted(self._tenants.items())
            if first <= minute < first + minutes and tenants
        }

    def changed(self, key: bytes, identity: Identity, difference: int) -> None:
        """An entry of the due index is inserted (+1) or deleted (-1)."""
        priority, due_ms, _ = parse_due(key)
        minute = due_ms // _MINUTE_MS
        if minute >= self._first and key < self._counted[priority]:
            self._add(minute, tenant_of(identity), difference)

    def _count(self, priority: int, end: bytes, limit: int) -> int:
        """Count entries of one priority; how many."""
        count = 0
        for key, value in between(self._family, self._counted[priority], end):
            if count == limit:
                self._counted[priority] = key
                return count
            self._add(parse_due(key)[1] // _MINUTE_MS, tenant_of(parse_due_value(value)[0]), 1)
            count += 1
        self._counted[priority] = end
        return count

    def _add(self, minute: int, tenant: str, difference: int) -> None:
        tenants = self._tenants.setdefault(minute, {})
        left = tenants.get(tenant, 0) + difference
        if left:
            tenants[tenant] = left
        else:
            tenants.pop(tenant, None)

    def _begin_at(self, first: int) -> None:
        """Minutes before the first are not needed any more; for earlier ones all has to be counted again."""
        if first < self._first:
            self._tenants.clear()
            self._counted = [b""] * len(_PRIORITIES)
        for minute in [minute for minute in self._tenants if minute < first]:
            del self._tenants[minute]
        self._first = first
        self._counted = [max(self._counted[priority], self._key(priority, first)) for priority in _PRIORITIES]

    def _key(self, priority: int, minute: int) -> bytes:
        return due_key(self._partition, priority, minute * _MINUTE_MS, 0)
