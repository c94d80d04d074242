"""Is a forecast right wherever counting has stopped, whatever changes before and behind it?"""

import pytest

from lightsched.event.identity import identity
from tests.unit.store.make import make_state, write

MINUTE_MS = 60_000
FIRST = 30_000_000


def named(n):
    return identity("abc"[n % 3], str(n), str(n))


@pytest.fixture
def filled(store, rocks):
    """Three entries in each of ten minutes, of two priorities."""
    states = {named(n): make_state(n, (FIRST + n // 3) * MINUTE_MS + n, priority=5 + 4 * (n % 2)) for n in range(30)}
    write(store, rocks, states)
    return states


def test_entries_are_counted_by_minute_and_tenant(store, filled):
    assert store.forecast(FIRST + 1, 2) == {FIRST + 1: {"a": 1, "b": 1, "c": 1}, FIRST + 2: {"a": 1, "b": 1, "c": 1}}
    assert store.forecast(FIRST - 100, 50) == {}
    assert len(store.forecast(FIRST, 60)) == 10


@pytest.mark.parametrize("counted", range(1, 40))
def test_changes_while_counting_are_counted_once(store, rocks, filled, counted):
    """Stop after some entries; one goes and one comes in every minute, before and behind that place."""
    store.count_ahead(FIRST, 10, counted)
    changes = {named(3 * minute): None for minute in range(10)}
    for minute in range(10):
        for priority in (0, 5, 9):
            n = 100 + 10 * minute + priority
            changes[named(n)] = make_state(n, (FIRST + minute) * MINUTE_MS + 500, priority=priority)
    write(store, rocks, changes)
    expected = {}
    for name, state in {**filled, **changes}.items():
        if state is not None:
            tenants = expected.setdefault(state.due_ms // MINUTE_MS, {})
            tenant = name.decode()[0]
            tenants[tenant] = tenants.get(tenant, 0) + 1
    assert store.forecast(FIRST, 10) == expected


def test_a_forecast_that_is_ready_stays_right(store, rocks, filled):
    assert store.count_ahead(FIRST, 10)
    write(store, rocks, {named(0): make_state(0, (FIRST + 9) * MINUTE_MS), named(1): None, named(2): None})
    assert store.count_ahead(FIRST, 10, 1)
    found = store.forecast(FIRST, 10)
    assert FIRST not in found
    assert found[FIRST + 9] == {"a": 2, "b": 1, "c": 1}
