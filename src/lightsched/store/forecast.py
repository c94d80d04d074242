"""How many events are due in each coming minute, by tenant?

The due index knows, minute by minute; nobody else has to. A forecast counts the minutes it is asked for from the
index, once, and from then on keeps them right as entries come and go. Counting goes from one entry to the next in a
fixed order (minute, priority, time, arrival), so it can stop anywhere and go on later: entries up to where it stands
are counted, and a change behind it is added at once. Nothing is persisted, a change costs a comparison, and memory
holds the minutes between the first and the last one asked for, at most `MAX_MINUTES`.

(Persisting a count per minute and tenant would cost every event a look-up and a write of its own, in and out.)
"""

from rocksdict import Rdict

from lightsched.event.identity import Identity, tenant_of
from lightsched.store.keys import FIRST_PRIORITY, LAST_PRIORITY, due_key, parse_due
from lightsched.store.rocks import between

MAX_MINUTES = 3 * 24 * 60
_MINUTE_MS = 60_000

MinuteCounts = dict[int, dict[str, int]]
"""Minute since the epoch → tenant → entries due in it."""


class Forecast:
    """Entries per minute, counted as far as was asked for."""

    def __init__(self, family: Rdict, partition: int) -> None:
        self._family = family
        self._partition = partition
        self.active = False  # something was counted, and has to be kept right
        self._tenants: MinuteCounts = {}
        self._first = 0
        # counted so far: all up to this entry, in the order minute, priority, key
        self._minute = 0
        self._priority = FIRST_PRIORITY
        self._key = b""

    def count(self, first: int, minutes: int, limit: int) -> bool:
        """Count on, over at most `limit` entries, until `minutes` from `first` on are counted. Are they?"""
        minutes = min(minutes, MAX_MINUTES)
        end = first + minutes
        if first < self._first or first > self._minute or end - self._first > MAX_MINUTES:
            self._reset(first)
        self._drop_before(first)
        self.active = True
        while self._minute < end and limit > 0:
            limit -= 1 + self._count_some(limit)
        return self._minute >= end

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
        if minute < self._first or (minute, priority, key) > (self._minute, self._priority, self._key):
            return
        self._add(minute, tenant_of(identity), difference)

    def _count_some(self, limit: int) -> int:
        """Count one priority of one minute, or as much of it as `limit` allows."""
        start = due_key(self._partition, self._priority, self._minute * _MINUTE_MS, 0)
        end = due_key(self._partition, self._priority, (self._minute + 1) * _MINUTE_MS, 0)
        counted = 0
        for key, value in between(self._family, max(start, self._key + b"\0"), end):
            self._add(self._minute, tenant_of(Identity(value)), 1)
            self._key = key
            counted += 1
            if counted == limit:
                return counted
        self._key = b""
        self._priority += 1
        if self._priority > LAST_PRIORITY:
            self._minute, self._priority = self._minute + 1, FIRST_PRIORITY
        return counted

    def _add(self, minute: int, tenant: str, difference: int) -> None:
        tenants = self._tenants.setdefault(minute, {})
        left = tenants.get(tenant, 0) + difference
        if left:
            tenants[tenant] = left
        else:
            tenants.pop(tenant, None)

    def _drop_before(self, first: int) -> None:
        if first > self._first:
            for minute in [minute for minute in self._tenants if minute < first]:
                del self._tenants[minute]
            self._first = first

    def _reset(self, first: int) -> None:
        self._tenants.clear()
        self._first = self._minute = first
        self._priority = FIRST_PRIORITY
        self._key = b""
