"""What does a partition know? Its store: what the engine reads, and where a committed step goes.

A `Store` is the state of one partition in an open RocksDB; several may share one. It is read and written by the thread
of its worker only. `apply` puts a step into a batch and at once counts it as done, so the batch must be written right
after it, in one go with whatever else the log adds; if that fails, the store is finished and has to be opened again.
"""

import os
from collections.abc import Sequence

from rocksdict import WriteBatch

from lightsched.engine.state import FinishedRun, State
from lightsched.engine.step import Meta, RunKey, Step
from lightsched.engine.view import Entry
from lightsched.event.identity import Identity, identity
from lightsched.store import values
from lightsched.store.counts import Counts
from lightsched.store.families import (
    COUNTS,
    DEFINITIONS,
    DERIVED,
    DUE,
    IDS,
    LEASES,
    META,
    RUNS,
    STATES,
    STORE_FAMILIES,
    WAITING,
)
from lightsched.store.forecast import Forecast, MinuteCounts
from lightsched.store.format import VERSION, migrate
from lightsched.store.heads import Heads
from lightsched.store.index import Entries, entries
from lightsched.store.keys import (
    definition_key,
    id_key,
    id_prefix,
    parse_run,
    parse_waiting,
    partition_end,
    partition_key,
    run_key,
    run_prefix,
    waiting_prefix,
)
from lightsched.store.rocks import Rocks, below, between, new_batch

_FORMAT, _META, _CURSORS, _REBUILDING = b"format", b"meta", b"cursors", b"rebuilding"
_NO_ENTRIES: Entries = []
_COUNTED_AT_ONCE = 10_000
_REBUILT_AT_ONCE = 1_000
_SEQS_KEPT = 50_000


class Store:
    """The state of one partition. Implements `lightsched.engine.view.View`."""

    def __init__(self, rocks: Rocks, partition: int) -> None:
        """Open the store of a partition, or make it.

        1. Bring its format up to date.
        2. Read its meta record; there is none: it is new, make one with a secret of its own.
        3. A rebuild that was interrupted starts again.
        4. Read the counts and the cursors: the rest is read when it is needed.
        """
        self.partition = partition
        self._rocks = rocks
        self._prefix = partition_key(partition)
        self._all = below(partition_end(partition))
        self._family = rocks.families
        self._handle = rocks.handles
        self._seqs: dict[Identity, int] = {}  # of the states read since the last step: where their definitions are
        version = self._family[META].get(self._prefix + _FORMAT)
        if version is not None:
            migrate(rocks, partition, int(version))
        meta = self._family[META].get(self._prefix + _META)
        self._meta = self._make() if meta is None else values.decode_meta(meta)
        if self._family[META].get(self._prefix + _REBUILDING) is not None:
            self.rebuild()
        else:
            self._load()

    # what the engine reads

    @property
    def meta(self) -> Meta:
        """The partition's own record, as of the last step."""
        return self._meta

    def states(self, identities: Sequence[Identity]) -> list[State | None]:
        """The states of many events, in the order asked."""
        self._bound_seqs()
        return self._read_states(identities)

    def _read_states(self, identities: Sequence[Identity]) -> list[State | None]:
        prefix, decode, seqs = self._prefix, values.decode_state, self._seqs
        found: list[State | None] = []
        for name, value in zip(identities, self._get(STATES, [prefix + name for name in identities]), strict=True):
            if value is None:
                found.append(None)
            else:
                state = decode(value)
                seqs[name] = state.seq
                found.append(state)
        return found

    def definitions(self, identities: Sequence[Identity]) -> list[bytes | None]:
        """The definitions of many events, in the order asked. Fastest for those whose states were just read."""
        self._bound_seqs()
        seqs = self._seqs
        unread = [name for name in identities if name not in seqs]
        if unread:
            self._read_states(unread)
        known = [name for name in identities if name in seqs]
        partition = self.partition
        found = self._get(DEFINITIONS, [definition_key(partition, seqs[name]) for name in known])
        if len(known) == len(identities):
            return found
        by_name = dict(zip(known, found, strict=True))
        return [by_name.get(name) for name in identities]

    def _bound_seqs(self) -> None:
        if len(self._seqs) > _SEQS_KEPT:
            self._seqs.clear()

    def due(self, until_ms: int, limit: int) -> list[Entry]:
        """Entries with due ≤ until, in firing order: priority, due, arrival."""
        return self._heads.due_until(until_ms, limit)

    def leases(self, until_ms: int, limit: int) -> list[Identity]:
        """Events with a lease, an expiry or a time to forget ≤ until, earliest first (one event may occur twice)."""
        return self._heads.leases_until(until_ms, limit)

    def in_flight(self, tenant: str) -> int:
        """Runs of a tenant that are delivered and unreported."""
        return self._counts.of(tenant).in_flight

    @property
    def in_flight_runs(self) -> int:
        """Runs of all tenants that are delivered and unreported."""
        return self._counts.in_flight

    def waiting_tenants(self) -> Sequence[str]:
        """Tenants with runs that wait for a slot."""
        return self._counts.waiting_tenants

    def waiting(self, tenant: str, limit: int) -> list[Entry]:
        """Runs of a tenant that wait for a slot, in firing order."""
        found: list[Entry] = []
        prefix = waiting_prefix(self.partition, tenant.encode())
        for key, name in self._family[WAITING].items(from_key=prefix, read_opt=self._all):
            assert isinstance(key, bytes)
            if len(found) == limit or not key.startswith(prefix):
                break
            found.append(Entry(*parse_waiting(key), name))
        return found

    def runs_before(self, identity: Identity, due_ms: int, limit: int) -> list[RunKey]:
        """Finished runs of an event that were due before, oldest first."""
        found: list[RunKey] = []
        prefix = run_prefix(self.partition, identity)
        for key in self._family[RUNS].keys(from_key=prefix, read_opt=self._all):
            assert isinstance(key, bytes)
            if len(found) == limit or not key.startswith(prefix):
                break
            due, revision = parse_run(key)
            if due >= due_ms:
                break
            found.append((identity, due, revision))
        return found

    def ran(self, identity: Identity, due_ms: int, revision: int) -> bool:
        """Does history hold this run of an event?"""
        return self._family[RUNS].get(run_key(self.partition, identity, due_ms, revision)) is not None

    # what else is read

    def next_due_ms(self) -> int | None:
        """When there is something to do next: an entry of the due index, or a deadline."""
        return self._heads.next_ms()

    def state(self, identity: Identity) -> State | None:
        """One event's state."""
        value = self._family[STATES].get(self._prefix + identity)
        return None if value is None else values.decode_state(value)

    def definition(self, identity: Identity) -> bytes | None:
        """One event's definition, as sent."""
        state = self.state(identity)
        return None if state is None else self._family[DEFINITIONS].get(definition_key(self.partition, state.seq))

    def keys_of(self, tenant: str, id: str, limit: int = 1_000) -> list[str]:
        """The keys of a tenant's events with this id; not all, if there are more than the limit."""
        found = [id] if self.state(identity(tenant, id, id)) is not None else []
        prefix = id_prefix(self.partition, tenant, id)
        for key in self._family[IDS].keys(from_key=prefix, read_opt=self._all):
            assert isinstance(key, bytes)
            if len(found) == limit or not key.startswith(prefix):
                break
            found.append(key[len(prefix) :].decode())
        return found

    def scan(self, tenant: str | None, after: Identity | None, limit: int) -> list[tuple[Identity, State]]:
        """Events of a tenant, or of all, in the order of their identities, from `after` on."""
        prefix = self._prefix if tenant is None else self._prefix + tenant.encode() + b"\0"
        start = prefix if after is None else max(prefix, self._prefix + after + b"\0")
        found: list[tuple[Identity, State]] = []
        for key, value in self._family[STATES].items(from_key=start, read_opt=self._all):
            assert isinstance(key, bytes)
            if len(found) == limit or not key.startswith(prefix):
                break
            found.append((Identity(key[len(self._prefix) :]), values.decode_state(value)))
        return found

    def runs_of(
        self, identity: Identity, before: tuple[int, int] | None, limit: int
    ) -> list[tuple[RunKey, FinishedRun]]:
        """Finished runs of an event, newest first, from the one before `(due, revision)` on."""
        prefix = run_prefix(self.partition, identity)
        start = prefix + b"\xff" * 13 if before is None else run_key(self.partition, identity, *before)
        found: list[tuple[RunKey, FinishedRun]] = []
        for key, value in self._family[RUNS].items(backwards=True, from_key=start):
            assert isinstance(key, bytes)
            if len(found) == limit or not key.startswith(prefix):
                break
            if key != start:
                found.append(((identity, *parse_run(key)), values.decode_run(value)))
        return found

    def count_ahead(self, first_minute: int, minutes: int, limit: int = _COUNTED_AT_ONCE) -> bool:
        """Prepare a forecast, over at most `limit` entries. Is it ready? Call again if not, others first."""
        return self._forecast.count(first_minute, minutes, limit)

    def forecast(self, first_minute: int, minutes: int) -> MinuteCounts:
        """Entries of the due index per minute (since the epoch) and tenant; empty minutes are left out."""
        while not self.count_ahead(first_minute, minutes):
            pass
        return self._forecast.minutes(first_minute, minutes)

    def pending(self, tenant: str | None = None) -> int:
        """Events that have not ended, of one tenant or of all."""
        return self._counts.pending if tenant is None else self._counts.of(tenant).pending

    # what is written

    def apply(self, batch: WriteBatch, step: Step) -> None:
        """Put a step into a batch, to be written at once.

        1. States, and the index entries that they add or leave out.
        2. Definitions, under the number of their arrival.
        3. Finished runs.
        4. Counts, meta and cursors.
        """
        self._apply_states(batch, step)
        self._apply_definitions(batch, step)
        handle = self._handle[RUNS]
        for (name, due_ms, revision), run in step.runs.items():
            key = run_key(self.partition, name, due_ms, revision)
            if run is None:
                batch.delete(key, handle)
            else:
                batch.put(key, values.encode(run), handle)
        self._counts.settle(batch, self._handle[COUNTS])
        self._meta = step.meta
        batch.put(self._prefix + _META, values.encode(step.meta), self._handle[META])
        self._settle_cursors(batch)
        self._seqs.clear()

    def _apply_states(self, batch: WriteBatch, step: Step) -> None:
        partition, prefix = self.partition, self._prefix
        states, ids = self._handle[STATES], self._handle[IDS]
        put, delete, encode, count = batch.put, batch.delete, values.encode, self._counts.change
        earlier = step.before
        for name, after in step.states.items():
            before = earlier.get(name)
            if before is None:
                if after is None:
                    continue
                old = _NO_ENTRIES
                if (found := id_key(partition, name)) is not None:
                    put(found, b"", ids)
            else:
                old = entries(partition, name, before)
            if after is None:
                new = _NO_ENTRIES
                delete(prefix + name, states)
                if (found := id_key(partition, name)) is not None:
                    delete(found, ids)
            else:
                new = entries(partition, name, after)
                put(prefix + name, encode(after), states)
            if old != new:
                self._move(batch, name, old, new)
            count(name, before, after)

    def _move(self, batch: WriteBatch, name: Identity, old: Entries, new: Entries) -> None:
        """Take an event from its old entries to its new ones."""
        stay = set(old).intersection(new) if len(old) > 1 else old if old == new else ()
        for entry in old:
            if entry not in stay:
                family, key = entry
                batch.delete(key, self._handle[family])
                if family is DUE:
                    self._heads.due[key[2]].delete(key)
                    if self._forecast.active:
                        self._forecast.changed(key, name, -1)
                elif family is LEASES:
                    self._heads.leases.delete(key)
        for entry in new:
            if entry not in stay:
                family, key = entry
                batch.put(key, name, self._handle[family])
                if family is DUE:
                    self._heads.due[key[2]].put(key)
                    if self._forecast.active:
                        self._forecast.changed(key, name, +1)
                elif family is LEASES:
                    self._heads.leases.put(key)

    def _apply_definitions(self, batch: WriteBatch, step: Step) -> None:
        """A definition lies under its state's seq: where that changes, the old one goes."""
        partition, handle = self.partition, self._handle[DEFINITIONS]
        earlier, states = step.before, step.states
        for name, definition in step.definitions.items():
            before = earlier.get(name)
            after = states.get(name, before)
            if before is not None and (after is None or after.seq != before.seq):
                batch.delete(definition_key(partition, before.seq), handle)
            if after is not None:
                assert definition is not None, f"{name!r} keeps its state and loses its definition"
                batch.put(definition_key(partition, after.seq), definition, handle)

    def _settle_cursors(self, batch: WriteBatch) -> None:
        lows = self._heads.settle()
        if lows is not None:
            batch.put(self._prefix + _CURSORS, lows, self._handle[META])

    # made, loaded, rebuilt

    def _make(self) -> Meta:
        batch = new_batch()
        meta = Meta(secret=os.urandom(32))
        batch.put(self._prefix + _FORMAT, str(VERSION).encode(), self._handle[META])
        batch.put(self._prefix + _META, values.encode(meta), self._handle[META])
        self._rocks.write(batch)
        return meta

    def _load(self) -> None:
        self._counts = Counts(self._family[COUNTS], self.partition)
        self._forecast = Forecast(self._family[DUE], self.partition)
        stored = self._family[META].get(self._prefix + _CURSORS)
        self._heads = Heads(self._family[DUE], self._family[LEASES], self.partition, stored)

    def rebuild(self) -> None:
        """Make the derived families again, from the states.

        1. Note that a rebuild is under way, wipe the derived families.
        2. Write the entries of all states, some at a time.
        3. Write the counts, note that it is done.
        """
        batch = new_batch()
        batch.put(self._prefix + _REBUILDING, b"", self._handle[META])
        batch.delete(self._prefix + _CURSORS, self._handle[META])
        for family in DERIVED:
            batch.delete_range(self._prefix, partition_end(self.partition), self._handle[family])
        self._rocks.write(batch)
        self._load()
        after: Identity | None = None
        while some := self.scan(None, after, _REBUILT_AT_ONCE):
            batch = new_batch()
            for name, state in some:
                if (found := id_key(self.partition, name)) is not None:
                    batch.put(found, b"", self._handle[IDS])
                self._move(batch, name, _NO_ENTRIES, entries(self.partition, name, state))
                self._counts.change(name, None, state)
            self._settle_cursors(batch)
            self._rocks.write(batch)
            after = some[-1][0]
        batch = new_batch()
        self._counts.settle(batch, self._handle[COUNTS])
        batch.delete(self._prefix + _REBUILDING, self._handle[META])
        self._rocks.write(batch)

    def dump(self) -> dict[str, dict[bytes, bytes]]:
        """Everything, by family, without the cursors: they are hints. For tests, and for looking into."""
        dumped: dict[str, dict[bytes, bytes]] = {}
        for name in STORE_FAMILIES:
            items = between(self._family[name], self._prefix, partition_end(self.partition))
            dumped[name] = {key[2:]: value for key, value in items}
        dumped[META].pop(_CURSORS, None)
        return dumped

    def _get(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        if not keys:
            return []
        found: list[bytes | None] = self._family[family].get(keys)  # type: ignore[arg-type,assignment]
        return found
