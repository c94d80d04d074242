"""Where is an event indexed? Wherever its state says: the indexes are derived from the states, here and nowhere else.

| what the state holds | entry |
|---|---|
| a next occurrence, not paused | `due` at that time |
| a run that goes at some time, not paused or triggered under the pause | `due` at that time |
| a run that waits for a slot | `waiting` of its tenant |
| a delivered run | `leases` at the deadline of its lease |
| a run that waits, for a slot or for the previous run, and expires | `leases` at its expiry |
| a time to forget a finished event | `leases` at that time |

The value of every entry is the identity; of `due`, with the state (`lightsched.store.values`). A store writes what a
state adds to the entries of the state before, and deletes what it leaves out; rebuilding a store is writing the entries
of all states.
"""

from lightsched.engine.state import Phase, State
from lightsched.event.identity import Identity
from lightsched.store.families import DUE, LEASES, WAITING
from lightsched.store.keys import EXPIRY, FORGET, LEASE, due_key, lease_key, waiting_key

Entries = list[tuple[str, bytes]]
"""Family and key of each entry."""


def entries(partition: int, identity: Identity, state: State) -> Entries:
    """All entries of an event."""
    found: Entries = []
    if state.due_ms is not None and not state.paused:
        found.append((DUE, due_key(partition, state.priority, state.due_ms, state.seq)))
    if state.runs:
        _add_runs(found, partition, identity, state)
    if state.forget_ms is not None:
        found.append((LEASES, lease_key(partition, state.forget_ms, state.seq, FORGET)))
    return found


def _add_runs(found: Entries, partition: int, identity: Identity, state: State) -> None:
    for run in state.runs:
        phase = run.phase
        if phase is Phase.DELIVERED:
            found.append((LEASES, lease_key(partition, run.at_ms, run.seq, LEASE)))
        elif phase is Phase.RETRY:
            if not state.paused or run.triggered:
                found.append((DUE, due_key(partition, state.priority, run.at_ms, run.seq)))
        else:
            if phase is Phase.WAITING:
                tenant = identity[: identity.index(0)]
                found.append((WAITING, waiting_key(partition, tenant, state.priority, run.due_ms, run.seq)))
            if run.expires_ms > 0:
                found.append((LEASES, lease_key(partition, run.expires_ms, run.seq, EXPIRY)))
