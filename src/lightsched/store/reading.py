"""What can be asked of a partition's store? What the engine reads, and what people want to see.

It is read by the thread of its worker only. What a step has written is seen at once, before it is durable.
"""

from collections.abc import Sequence

from lightsched.engine.state import FinishedRun, State, told_run
from lightsched.engine.step import Meta, RunKey
from lightsched.engine.view import Entry
from lightsched.event.identity import Identity, identity
from lightsched.store import values
from lightsched.store.counts import Counts
from lightsched.store.errors import StoreClosed, StoreUnreadable
from lightsched.store.families import DEFINITIONS, DUE, IDS, RUNS, STATES, WAITING
from lightsched.store.finished import Finished
from lightsched.store.forecast import Forecast, MinuteCounts
from lightsched.store.heads import Heads, Place
from lightsched.store.keys import (
    definition_key,
    id_prefix,
    parse_run,
    parse_waiting,
    partition_end,
    partition_key,
    run_key,
    run_prefix,
    waiting_prefix,
)
from lightsched.store.rocks import Rocks, below

_COUNTED_AT_ONCE = 10_000
_SEQS_KEPT = 50_000


class Reading:
    """The state of one partition, to be read. Implements `lightsched.engine.view.View`."""

    _meta: Meta
    _counts: Counts
    _forecast: Forecast
    _heads: Heads

    def __init__(self, rocks: Rocks, partition: int) -> None:
        self.partition = partition
        self.finished = Finished(rocks, partition)
        self._rocks = rocks
        self._prefix = partition_key(partition)
        self._all = below(partition_end(partition))
        self._family = rocks.families
        self._seqs: dict[Identity, int] = {}  # of the states read since the last step: where their definitions are
        self._fresh: dict[Identity, State] = {}  # read with what is due, since the last step

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
        prefix, decode, seqs, fresh = self._prefix, values.decode_state, self._seqs, self._fresh
        unread = [name for name in identities if name not in fresh]
        read = iter(self._get(STATES, [prefix + name for name in unread]))
        found: list[State | None] = []
        for name in identities:
            state = fresh.get(name)
            if state is None and (value := next(read)) is not None:
                state = decode(value)
            if state is not None:
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
        self._fresh.clear()
        return self._heads.due_until(until_ms, limit, self._fresh)

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

    def fires_next_ms(self) -> int | None:
        """When something fires next."""
        return self._heads.due_ms()

    def soonest(self, start: Place, limit: int) -> list[Entry]:
        """Entries of the due index from a place on, in the order of time: due, priority, arrival."""
        return self._heads.soonest(self._family[DUE], start, limit)

    def state(self, identity: Identity) -> State | None:
        """One event's state."""
        value = self._family[STATES].get(self._prefix + identity)
        return None if value is None else values.decode_state(value)

    def definition(self, identity: Identity) -> bytes | None:
        """One event's definition, as sent."""
        state = self.state(identity)
        return None if state is None else self.definition_of(state)

    def definition_of(self, state: State) -> bytes | None:
        """The definition that belongs to a state that was just read."""
        return self._family[DEFINITIONS].get(definition_key(self.partition, state.seq))

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

    def scan(
        self, tenant: str | None, after: Identity | None, limit: int, begins: str = ""
    ) -> list[tuple[Identity, State]]:
        """Events of a tenant, or of all, in the order of their identities, from `after` on. `begins`: of a tenant, only
        those whose key begins so.
        """
        prefix = self._prefix if tenant is None else self._prefix + f"{tenant}\0{begins}".encode()
        start = prefix if after is None else max(prefix, self._prefix + after + b"\0")
        found: list[tuple[Identity, State]] = []
        for key, value in self._family[STATES].items(from_key=start, read_opt=self._all):
            assert isinstance(key, bytes)
            if len(found) == limit or not key.startswith(prefix):
                break
            found.append((Identity(key[len(self._prefix) :]), values.decode_state(value)))
        return found

    def has_keyed(self, tenant: str, begins: str) -> bool:
        """Has a tenant events whose id begins so and is not their key?"""
        prefix = self._prefix + f"{tenant}\0{begins}".encode()
        for key in self._family[IDS].keys(from_key=prefix, read_opt=self._all):
            assert isinstance(key, bytes)
            return key.startswith(prefix)
        return False

    def runs_of(
        self, identity: Identity, before: tuple[int, int] | None, limit: int
    ) -> list[tuple[RunKey, FinishedRun]]:
        """Finished runs of an event, newest first, from the one before `(due, revision)` on."""
        prefix = run_prefix(self.partition, identity)
        start = prefix + b"\xff" * 13 if before is None else run_key(self.partition, identity, *before)
        found: list[tuple[RunKey, FinishedRun]] = []
        state = self.state(identity)
        if state is not None and (told := told_run(state)) is not None:  # newer than all that are written
            due_ms, run = told
            if before is None or (due_ms, state.revision) < before:
                found.append(((identity, due_ms, state.revision), run))
        for key, value in self._family[RUNS].items(backwards=True, from_key=start):
            assert isinstance(key, bytes)
            if len(found) == limit or not key.startswith(prefix):
                break
            if key != start:
                found.append(((identity, *parse_run(key)), values.decode_run(value)))
        return found

    def run(self, identity: Identity, due_ms: int, revision: int) -> FinishedRun | None:
        """One finished run."""
        value = self._family[RUNS].get(run_key(self.partition, identity, due_ms, revision))
        return None if value is None else values.decode_run(value)

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

    def _get(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        if not keys:
            return []
        try:
            found: list[bytes | None] = self._family[family].get(keys)  # type: ignore[arg-type,assignment]
        except StoreClosed:
            raise
        except Exception as error:
            raise StoreUnreadable(why=error) from error
        return found
