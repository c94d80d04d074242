"""A partition's state in dictionaries: what the engine reads, and what a committed step does to it.

Written without a look at the store, so that the engine is tested against the meaning of its steps. Every question is a
linear scan. States go through their encoding, as they would on disk.
"""

from collections.abc import Sequence

import msgspec

from lightsched.engine.state import FinishedRun, Phase, State
from lightsched.engine.step import Meta, RunKey, Step
from lightsched.engine.view import Entry
from lightsched.event.identity import Identity, tenant_of

_encode = msgspec.msgpack.Encoder().encode
_decode_state = msgspec.msgpack.Decoder(State).decode


class MemoryView:
    """Implements `lightsched.engine.view.View`."""

    def __init__(self, secret: bytes = b"a secret of the tests") -> None:
        self._meta = Meta(secret=secret)
        self._states: dict[Identity, bytes] = {}
        self._definitions: dict[Identity, bytes] = {}
        self.runs: dict[RunKey, FinishedRun] = {}
        self._due: dict[Identity, list[Entry]] = {}
        self._waiting: dict[Identity, list[Entry]] = {}
        self._deadlines: dict[Identity, list[int]] = {}
        self._out: dict[Identity, int] = {}

    # what the engine reads

    @property
    def meta(self) -> Meta:
        return self._meta

    def states(self, identities: Sequence[Identity]) -> list[State | None]:
        found = map(self._states.get, identities)
        return [None if data is None else _decode_state(data) for data in found]

    def definitions(self, identities: Sequence[Identity]) -> list[bytes | None]:
        return list(map(self._definitions.get, identities))

    def due(self, until_ms: int, limit: int) -> list[Entry]:
        due = (entry for entries in self._due.values() for entry in entries if entry.due_ms <= until_ms)
        return sorted(due)[:limit]

    def leases(self, until_ms: int, limit: int) -> list[Identity]:
        over = ((ms, name) for name, times in self._deadlines.items() for ms in times if ms <= until_ms)
        return [name for _, name in sorted(over)][:limit]

    def in_flight(self, tenant: str) -> int:
        return sum(out for name, out in self._out.items() if tenant_of(name) == tenant)

    def waiting_tenants(self) -> Sequence[str]:
        return sorted({tenant_of(name) for name in self._waiting})

    def waiting(self, tenant: str, limit: int) -> list[Entry]:
        entries = (entry for name, found in self._waiting.items() if tenant_of(name) == tenant for entry in found)
        return sorted(entries)[:limit]

    def runs_before(self, identity: Identity, due_ms: int, limit: int) -> list[RunKey]:
        return sorted(key for key in self.runs if key[0] == identity and key[1] < due_ms)[:limit]

    def ran(self, identity: Identity, due_ms: int, revision: int) -> bool:
        return (identity, due_ms, revision) in self.runs

    # what a step does

    def apply(self, step: Step) -> None:
        self._meta = step.meta
        for name, state in step.states.items():
            for index in (self._due, self._waiting, self._deadlines, self._out):
                index.pop(name, None)
            if state is None:
                self._states.pop(name, None)
            else:
                self._states[name] = _encode(state)
                self._index(name, state)
        for name, definition in step.definitions.items():
            if definition is None:
                self._definitions.pop(name, None)
            else:
                self._definitions[name] = definition
        for key, run in step.runs.items():
            if run is None:
                self.runs.pop(key, None)
            else:
                self.runs[key] = run

    def _index(self, name: Identity, state: State) -> None:
        due, waiting, deadlines = [], [], []
        if state.due_ms is not None and not state.paused:
            due.append(Entry(state.priority, state.due_ms, state.seq, name))
        if state.forget_ms is not None:
            deadlines.append(state.forget_ms)
        for run in state.runs:
            if run.phase is Phase.DELIVERED:
                deadlines.append(run.at_ms)
            elif run.phase is Phase.RETRY and (run.triggered or not state.paused):
                due.append(Entry(state.priority, run.at_ms, run.seq, name))
            elif run.phase is not Phase.RETRY and run.expires_ms:
                deadlines.append(run.expires_ms)
            if run.phase is Phase.WAITING:
                waiting.append(Entry(state.priority, run.due_ms, run.seq, name))
        for index, entries in ((self._due, due), (self._waiting, waiting), (self._deadlines, deadlines)):
            if entries:
                index[name] = entries
        if out := sum(run.phase is Phase.DELIVERED for run in state.runs):
            self._out[name] = out

    # what tests read

    @property
    def identities(self) -> list[Identity]:
        return list(self._states)

    def next_ms(self) -> int | None:
        times = [entry.due_ms for entries in self._due.values() for entry in entries]
        times += [ms for deadlines in self._deadlines.values() for ms in deadlines]
        return min(times, default=None)
