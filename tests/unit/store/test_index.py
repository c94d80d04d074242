"""The table of lightsched.store.index, line by line."""

import pytest

from lightsched.engine.state import Phase
from lightsched.store.families import DUE, LEASES, WAITING
from lightsched.store.index import entries
from lightsched.store.keys import EXPIRY, FORGET, LEASE, due_key, lease_key, waiting_key
from tests.unit.store.make import EVENT, NOW_MS, make_run, make_state

LATER_MS = NOW_MS + 90_000
P = 3

TABLE = {
    "a next occurrence": (make_state(1), [(DUE, due_key(P, 5, NOW_MS, 1))]),
    "a next occurrence of another priority": (make_state(1, priority=0), [(DUE, due_key(P, 0, NOW_MS, 1))]),
    "a paused next occurrence": (make_state(1, paused=True), []),
    "nothing to come": (make_state(1, None), []),
    "a delivered run": (
        make_state(1, None, runs=(make_run(2, Phase.DELIVERED, LATER_MS),)),
        [(LEASES, lease_key(P, LATER_MS, 2, LEASE))],
    ),
    "a delivered run while paused": (
        make_state(1, paused=True, runs=(make_run(2, Phase.DELIVERED, LATER_MS),)),
        [(LEASES, lease_key(P, LATER_MS, 2, LEASE))],
    ),
    "a delivered run does not expire": (
        make_state(1, None, runs=(make_run(2, Phase.DELIVERED, LATER_MS, expires_ms=NOW_MS),)),
        [(LEASES, lease_key(P, LATER_MS, 2, LEASE))],
    ),
    "a run to be tried again": (
        make_state(1, None, runs=(make_run(2, Phase.RETRY, LATER_MS),)),
        [(DUE, due_key(P, 5, LATER_MS, 2))],
    ),
    "a run to be tried again while paused": (
        make_state(1, None, paused=True, runs=(make_run(2, Phase.RETRY, LATER_MS),)),
        [],
    ),
    "a run that was triggered under the pause": (
        make_state(1, None, paused=True, runs=(make_run(2, Phase.RETRY, LATER_MS, triggered=True),)),
        [(DUE, due_key(P, 5, LATER_MS, 2))],
    ),
    "a run that waits for a slot": (
        make_state(1, None, runs=(make_run(2, Phase.WAITING),)),
        [(WAITING, waiting_key(P, b"default", 5, NOW_MS, 2))],
    ),
    "a run that waits for a slot and expires": (
        make_state(1, None, runs=(make_run(2, Phase.WAITING, expires_ms=LATER_MS),)),
        [(WAITING, waiting_key(P, b"default", 5, NOW_MS, 2)), (LEASES, lease_key(P, LATER_MS, 2, EXPIRY))],
    ),
    "a run that waits for the previous one": (make_state(1, None, runs=(make_run(2, Phase.QUEUED),)), []),
    "a run that waits for the previous one and expires": (
        make_state(1, None, runs=(make_run(2, Phase.QUEUED, expires_ms=LATER_MS),)),
        [(LEASES, lease_key(P, LATER_MS, 2, EXPIRY))],
    ),
    "a finished event": (make_state(1, None, forget_ms=LATER_MS), [(LEASES, lease_key(P, LATER_MS, 1, FORGET))]),
    "a recurrence with runs in every phase": (
        make_state(
            1,
            LATER_MS,
            runs=(
                make_run(2, Phase.DELIVERED, LATER_MS),
                make_run(3, Phase.RETRY, LATER_MS),
                make_run(4, Phase.WAITING),
                make_run(5, Phase.QUEUED),
            ),
        ),
        [
            (DUE, due_key(P, 5, LATER_MS, 1)),
            (LEASES, lease_key(P, LATER_MS, 2, LEASE)),
            (DUE, due_key(P, 5, LATER_MS, 3)),
            (WAITING, waiting_key(P, b"default", 5, NOW_MS, 4)),
        ],
    ),
}


@pytest.mark.parametrize("what", TABLE)
def test_the_entries_of(what):
    state, expected = TABLE[what]
    assert entries(P, EVENT, state) == expected
