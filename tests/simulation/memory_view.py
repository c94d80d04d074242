"""A partition's state in dictionaries: what the engine may read, without a store. Independent of `lightsched.store`."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from lightsched.engine.state import FinishedRun, Phase, State
from lightsched.engine.step import Meta, RunKey, Step
from lightsched.engine.view import Entry
from lightsched.event.identity import Identity, tenant_of


class MemoryView:
    """Implements `lightsched.engine.view.View`; a step is taken in by `apply`."""

    def __init__(self, secret: bytes = b"secret of a test, 32 bytes long.") -> None:
        self.meta = Meta(secret=secret)
        self.all: dict[Identity, State] = {}
        self.defined: dict[Identity, bytes] = {}
        self.runs: dict[RunKey, FinishedRun] = {}
        self._due: set[Entry] = set()
        self._by_time: list[tuple[int, Entry]] = []  # may hold entries that are gone
        self._deadlines: dict[Identity, int] = {}  # the earliest of an event's
        self._by_deadline: list[tuple[int, Identity]] = []  # may hold some that are gone
        self._running: dict[Identity, State] = {}  # those with unfinished runs

    # what the engine reads

    def states(self, identities: Sequence[Identity]) -> list[State | None]:
        return [self.all.get(name) for name in identities]

    def definitions(self, identities: Sequence[Identity]) -> list[bytes | None]:
        return [self.defined.get(name) for name in identities]

    def due(self, until_ms: int, limit: int) -> list[Entry]:
        found = []
        while self._by_time and self._by_time[0][0] <= until_ms:
            found.append(heappop(self._by_time))
        ready = [item for item in dict.fromkeys(found) if item[1] in self._due]
        for item in ready:
            heappush(self._by_time, item)
        return sorted(entry for _, entry in ready)[:limit]

    def leases(self, until_ms: int, limit: int) -> list[Identity]:
        found = []
        while self._by_deadline and self._by_deadline[0][0] <= until_ms:
            found.append(heappop(self._by_deadline))
        ready = [(at, name) for at, name in dict.fromkeys(found) if self._deadlines.get(name) == at]
        for item in ready:
            heappush(self._by_deadline, item)
        return [name for _, name in ready[:limit]]

    def in_flight(self, tenant: str) -> int:
        return sum(
            run.phase is Phase.DELIVERED
            for name, state in self._running.items()
            if tenant_of(name) == tenant
            for run in state.runs
        )

    def waiting_tenants(self) -> Sequence[str]:
        return sorted({entry[0] for entry in self._waiting()})

    def waiting(self, tenant: str, limit: int) -> list[Entry]:
        return sorted(entry for of, entry in self._waiting() if of == tenant)[:limit]

    def runs_before(self, identity: Identity, due_ms: int, limit: int) -> list[RunKey]:
        return sorted(key for key in self.runs if key[0] == identity and key[1] < due_ms)[:limit]

    def ran(self, identity: Identity, due_ms: int, revision: int) -> bool:
        return (identity, due_ms, revision) in self.runs

    # what drives it

    def next_due_ms(self) -> int | None:
        while self._by_time and self._by_time[0][1] not in self._due:
            heappop(self._by_time)
        while self._by_deadline and self._deadlines.get(self._by_deadline[0][1]) != self._by_deadline[0][0]:
            heappop(self._by_deadline)
        return min((heap[0][0] for heap in (self._by_time, self._by_deadline) if heap), default=None)

    def apply(self, step: Step) -> None:
        """The step has happened."""
        for name, state in step.states.items():
            old = self.all.get(name)
            if old is not None:
                self._due.difference_update(_entries(name, old))
            if state is None:
                self.all.pop(name, None)
                self._deadlines.pop(name, None)
                self._running.pop(name, None)
                continue
            self.all[name] = state
            if state.runs:
                self._running[name] = state
            else:
                self._running.pop(name, None)
            for entry in _entries(name, state):
                self._due.add(entry)
                heappush(self._by_time, (entry.due_ms, entry))
            if deadlines := _deadlines(state):
                self._deadlines[name] = min(deadlines)
                heappush(self._by_deadline, (min(deadlines), name))
            else:
                self._deadlines.pop(name, None)
        for name, definition in step.definitions.items():
            if definition is None:
                self.defined.pop(name, None)
            else:
                self.defined[name] = definition
        for key, run in step.runs.items():
            if run is None:
                self.runs.pop(key, None)
            else:
                self.runs[key] = run
        self.meta = step.meta
        if len(self._by_time) > 4 * len(self._due) + 1_000:
            self._by_time = [(entry.due_ms, entry) for entry in self._due]
            heapify(self._by_time)

    def _waiting(self) -> list[tuple[str, Entry]]:
        return [
            (tenant_of(name), Entry(state.priority, run.due_ms, run.seq, name))
            for name, state in self._running.items()
            for run in state.runs
            if run.phase is Phase.WAITING
        ]


def _entries(name: Identity, state: State) -> list[Entry]:
    found = []
    if state.due_ms is not None and not state.paused:
        found.append(Entry(state.priority, state.due_ms, state.seq, name))
    found += [
        Entry(state.priority, run.at_ms, run.seq, name)
        for run in state.runs
        if run.phase is Phase.RETRY and (run.triggered or not state.paused)
    ]
    return found


def _deadlines(state: State) -> list[int]:
    found = [] if state.forget_ms is None else [state.forget_ms]
    for run in state.runs:
        if run.phase is Phase.DELIVERED:
            found.append(run.at_ms)
        elif run.phase is not Phase.RETRY and run.expires_ms:
            found.append(run.expires_ms)
    return found
