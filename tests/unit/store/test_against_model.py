"""Does a store say what a dictionary would? And does a rebuilt one say the same as the live one?

A machine applies random steps and asks everything a worker asks; the model keeps the states in a dictionary and
searches it from end to end. Every machine has a partition of its own in one database, so it is also a test that
partitions do not disturb each other.
"""

import itertools
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec import structs

from lightsched.engine.state import FinishedRun, Phase
from lightsched.engine.view import Entry
from lightsched.event.identity import identity, tenant_of
from lightsched.event.status import FINAL, Status
from lightsched.store.families import META, STORE_FAMILIES
from lightsched.store.forecast import MAX_MINUTES
from lightsched.store.heads import place_of
from lightsched.store.rocks import Rocks, new_batch
from lightsched.store.store import Store
from tests.unit.store.make import NOW_MS, make_run, make_state, write

NAMES = [
    identity(tenant, key, id_)
    for tenant in ("a", "ab", "b")
    for key, id_ in (("k", "k"), ("k", "i"), ("l", "i"), ("i", "i"))
]
TIMES = st.one_of(
    st.integers(NOW_MS - 3, NOW_MS + 3),
    st.integers(NOW_MS - 200_000, NOW_MS + 200_000),
    st.integers(0, 2 * NOW_MS),
)
LIMITS = st.one_of(st.integers(1, 3), st.just(1_000))
FIRST_MINUTE = NOW_MS // 60_000 - 2

runs = st.builds(
    lambda phase, due_ms, at_ms, expires_ms: make_run(0, phase, at_ms, due_ms=due_ms, expires_ms=expires_ms),
    st.sampled_from(Phase),
    TIMES,
    TIMES,
    st.one_of(st.just(0), TIMES),
)
states = st.builds(
    lambda due_ms, priority, paused, status, runs_, forget_ms: make_state(
        0, due_ms, priority=priority, paused=paused, status=status, runs=tuple(runs_), forget_ms=forget_ms
    ),
    st.one_of(st.none(), TIMES),
    st.sampled_from([0, 5, 5, 5, 9]),
    st.booleans(),
    st.sampled_from(Status),
    st.lists(runs, max_size=3),
    st.one_of(st.none(), TIMES),
)
changes = st.dictionaries(st.sampled_from(NAMES), st.one_of(st.none(), states, states), min_size=1, max_size=6)

_partitions = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def database():
    directory = Path(tempfile.mkdtemp())
    StoreAgainstModel.rocks = Rocks(directory, STORE_FAMILIES)
    yield
    StoreAgainstModel.rocks.close()
    shutil.rmtree(directory)


class StoreAgainstModel(RuleBasedStateMachine):
    rocks: Rocks

    @initialize()
    def open_one(self):
        self.partition = next(_partitions)
        self.store = Store(self.rocks, self.partition)
        self.states = {}
        self.finished = {}
        self.seq = 0

    def number(self):
        self.seq += 1
        return self.seq

    def write(self, changed, finished=None):
        definitions = {
            name: None if state is None else b"%d" % state.seq
            for name, state in changed.items()
            if state is None or name not in self.states or self.states[name].seq != state.seq
        }
        write(self.store, self.rocks, changed, definitions=definitions, runs=finished or {})
        for name, state in changed.items():
            self.states.pop(name, None)
            if state is not None:
                self.states[name] = state
        for key, run in (finished or {}).items():
            self.finished.pop(key, None)
            if run is not None:
                self.finished[key] = run

    # what the model says

    def expected_due(self):
        found = []
        for name, state in self.states.items():
            if state.paused:
                continue
            if state.due_ms is not None:
                found.append(Entry(state.priority, state.due_ms, state.seq, name))
            found += [Entry(state.priority, run.at_ms, run.seq, name) for run in state.runs if run.phase is Phase.RETRY]
        return sorted(found)

    def expected_deadlines(self):
        found = []
        for name, state in self.states.items():
            for run in state.runs:
                if run.phase is Phase.DELIVERED:
                    found.append((run.at_ms, run.seq, name))
                elif run.phase in {Phase.WAITING, Phase.QUEUED} and run.expires_ms:
                    found.append((run.expires_ms, run.seq, name))
            if state.forget_ms is not None:
                found.append((state.forget_ms, state.seq, name))
        return sorted(found)

    # what happens

    @rule(changed=changes)
    def change(self, changed):
        numbered = {}
        for name, state in changed.items():
            if state is None:
                numbered[name] = None
            else:
                own = tuple(structs.replace(run, seq=self.number()) for run in state.runs)
                numbered[name] = structs.replace(state, seq=self.number(), runs=own)
        self.write(numbered)

    @rule(until_ms=TIMES, limit=LIMITS, left=st.integers(0, 2), again_ms=st.one_of(st.none(), TIMES))
    def fire(self, until_ms, limit, left, again_ms):
        """What is due goes, all of it or all but the last few; a recurrence comes back."""
        due = self.store.due(until_ms, limit)
        assert due == [entry for entry in self.expected_due() if entry.due_ms <= until_ms][:limit]
        changed, finished = {}, {}
        for entry in due[: len(due) - left]:
            state = changed.get(entry.identity, self.states[entry.identity])
            if entry.seq == state.seq:
                changed[entry.identity] = structs.replace(state, due_ms=again_ms)
            else:
                others = tuple(run for run in state.runs if run.seq != entry.seq)
                changed[entry.identity] = structs.replace(state, runs=others)
            finished[entry.identity, entry.due_ms, state.revision] = FinishedRun(Status.SUCCESS, until_ms, 1)
        self.write(changed, finished)

    @rule(start=st.tuples(TIMES, st.integers(0, 10), st.integers(0, 50)), limit=LIMITS)
    def look_ahead(self, start, limit):
        by_time = sorted(self.expected_due(), key=place_of)
        assert self.store.soonest(start, limit) == [entry for entry in by_time if place_of(entry) >= start][:limit]

    @rule(until_ms=TIMES, limit=LIMITS)
    def time_out(self, until_ms, limit):
        names = self.store.leases(until_ms, limit)
        assert names == [name for at_ms, _, name in self.expected_deadlines() if at_ms <= until_ms][:limit]
        self.write(
            {
                name: structs.replace(self.states[name], forget_ms=None, runs=self.states[name].runs[:1])
                for name in names
            }
        )

    @rule(name=st.sampled_from(NAMES), before_ms=TIMES)
    def drop_history(self, name, before_ms):
        old = self.store.runs_before(name, before_ms, 3)
        assert old == sorted(key for key in self.finished if key[0] == name and key[1] < before_ms)[:3]
        self.write({}, dict.fromkeys(old))

    @rule(hints=st.booleans())
    def open_again(self, hints):
        if not hints:
            batch = new_batch()
            batch.delete(self.partition.to_bytes(2, "big") + b"cursors", self.rocks.handles[META])
            self.rocks.write(batch)
        self.store = Store(self.rocks, self.partition)

    @rule()
    def rebuild(self):
        live = self.store.dump()
        self.store.rebuild()
        assert self.store.dump() == live

    @rule()
    def rebuild_after_a_crash(self):
        """A rebuild that stopped after wiping is done again when the store is opened."""
        live = self.store.dump()
        prefix, end = self.partition.to_bytes(2, "big"), (self.partition + 1).to_bytes(2, "big")
        batch = new_batch()
        batch.put(prefix + b"rebuilding", b"", self.rocks.handles[META])
        for family in ("due", "leases", "counts"):
            batch.delete_range(prefix, end, self.rocks.handles[family])
        self.rocks.write(batch)
        self.store = Store(self.rocks, self.partition)
        assert self.store.dump() == live

    @rule(first=st.integers(FIRST_MINUTE - 2, FIRST_MINUTE + 3), minutes=st.integers(1, 6), limit=st.integers(1, 20))
    def count_ahead(self, first, minutes, limit):
        self.store.count_ahead(first, minutes, limit)

    @rule(first=st.integers(FIRST_MINUTE - 2, FIRST_MINUTE + 3), minutes=st.sampled_from([1, 3, 6, 2 * MAX_MINUTES]))
    def forecast(self, first, minutes):
        minutes = min(minutes, MAX_MINUTES)
        counted = Counter((entry.due_ms // 60_000, tenant_of(entry.identity)) for entry in self.expected_due())
        found = self.store.forecast(first, minutes)
        assert {(minute, tenant): count for minute, tenants in found.items() for tenant, count in tenants.items()} == {
            (minute, tenant): count for (minute, tenant), count in counted.items() if first <= minute < first + minutes
        }

    # what always holds

    @invariant()
    def the_next_thing_to_do_is_known(self):
        if hasattr(self, "states"):
            times = [entry.due_ms for entry in self.expected_due()] + [at_ms for at_ms, *_ in self.expected_deadlines()]
            assert self.store.next_due_ms() == min(times, default=None)

    @invariant()
    def everything_is_counted(self):
        if hasattr(self, "states"):
            for tenant in ("a", "ab", "b"):
                own = [state for name, state in self.states.items() if tenant_of(name) == tenant]
                phases = Counter(run.phase for state in own for run in state.runs)
                assert self.store.in_flight(tenant) == phases[Phase.DELIVERED]
                assert self.store.pending(tenant) == sum(state.status not in FINAL for state in own)
                waiting = sorted(
                    Entry(state.priority, run.due_ms, run.seq, name)
                    for name, state in self.states.items()
                    if tenant_of(name) == tenant
                    for run in state.runs
                    if run.phase is Phase.WAITING
                )
                assert self.store.waiting(tenant, 1_000) == waiting
                assert (tenant in self.store.waiting_tenants()) == bool(waiting)

    @invariant()
    def everything_is_there(self):
        if hasattr(self, "states"):
            assert dict(self.store.scan(None, None, 1_000)) == self.states
            names = list(self.states)
            assert self.store.definitions(names) == [b"%d" % self.states[name].seq for name in names]
            for tenant in ("a", "ab", "b"):
                keys = sorted(key for key in ("k", "l", "i") if identity(tenant, key, "i") in self.states)
                assert sorted(self.store.keys_of(tenant, "i")) == keys


StoreAgainstModel.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestStoreAgainstModel = StoreAgainstModel.TestCase
