"""Which runs of all events ended last? An index of the finished runs by the time they ended.

A run of a one-shot that nobody reports on is told by the event's state and is in no family of its own; it is found by
the time at which that event is to be forgotten, which is in `leases` anyway: so the commonest run costs nothing here.
"""

from collections.abc import Mapping
from struct import Struct
from typing import NamedTuple

from rocksdict import Rdict, WriteBatch

from lightsched.engine.state import FinishedRun
from lightsched.engine.step import RunKey
from lightsched.event.identity import Identity
from lightsched.store import values
from lightsched.store.families import FINISHED, LEASES, RUNS
from lightsched.store.keys import FORGET, parse_run, partition_end, partition_key
from lightsched.store.rocks import Rocks, between, new_batch

_TIME = Struct(">HQ")
_RUN_BYTES = 13  # NUL, due, revision
_REBUILT_AT_ONCE = 1_000


class Place(NamedTuple):
    """Where an entry stands: its time, and its order among those of the same time."""

    ms: int
    tie: bytes


class Finished:
    """The finished runs of one partition by time."""

    def __init__(self, rocks: Rocks, partition: int) -> None:
        self._rocks = rocks
        self._partition = partition

    def index(self, batch: WriteBatch, runs: Mapping[bytes, FinishedRun | None]) -> None:
        """Runs, by their keys, that are written with this batch; None: deleted."""
        handle, stored = self._rocks.handles[FINISHED], self._rocks.families[RUNS]
        for key, run in runs.items():
            if run is not None:
                batch.put(self._key(Place(run.finished_ms, key[2:])), b"", handle)
            elif (old := stored.get(key)) is not None:
                batch.delete(self._key(Place(values.decode_run(old).finished_ms, key[2:])), handle)

    def runs_before(self, before: Place, limit: int) -> list[tuple[Place, RunKey]]:
        """Runs that ended before, the last first."""
        return [
            (place, (Identity(place.tie[:-_RUN_BYTES]), *parse_run(place.tie)))
            for place, _ in self._back(self._rocks.families[FINISHED], before, limit)
        ]

    def events_before(self, before: Place, limit: int) -> list[tuple[Place, Identity | None]]:
        """Events that are to be forgotten before, the last first; None: something else is due then."""
        return [
            (place, Identity(value) if place.tie[-1] == FORGET else None)
            for place, value in self._back(self._rocks.families[LEASES], before, limit)
        ]

    def rebuild(self) -> None:
        """Write the index again, from the runs."""
        prefix, end = partition_key(self._partition), partition_end(self._partition)
        start, some = prefix, True
        while some:
            batch, count, some = new_batch(), 0, False
            for key, value in between(self._rocks.families[RUNS], start, end):
                self.index(batch, {key: values.decode_run(value)})
                start, count = key + b"\0", count + 1
                if count == _REBUILT_AT_ONCE:
                    some = True
                    break
            self._rocks.write(batch)

    def _key(self, place: Place) -> bytes:
        return _TIME.pack(self._partition, max(place.ms, 0)) + place.tie

    def _back(self, family: Rdict, before: Place, limit: int) -> list[tuple[Place, bytes]]:
        start, prefix = self._key(before), partition_key(self._partition)
        found: list[tuple[Place, bytes]] = []
        for key, value in family.items(backwards=True, from_key=start):
            assert isinstance(key, bytes)
            if len(found) == limit or not key.startswith(prefix):
                break
            if key < start:
                found.append((Place(_TIME.unpack_from(key)[1], key[_TIME.size :]), value))
        return found
